#include "app/cli/frame/usage.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <re2/re2.h>

#include <algorithm>

#include "app/cli/frame/value_words.h"
#include "engine/config/suggestion.h"

namespace pipescope::cli {
namespace {

using Words = std::vector<std::string>;

const CLI::App& commandOf(const CLI::App& program) {
  const auto parsed = program.get_subcommands();
  return parsed.empty() ? program : *parsed.front();
}

std::string calledAs(const CLI::App& command) {
  return command.get_parent() == nullptr ? command.get_name() : "pipescope " + command.get_name();
}

/// An argument without its value: "--epochs" of "--epochs=3".
std::string nameOf(const std::string& argument) {
  return argument.substr(0, argument.find('='));
}

/// The name under which the user typed an option that the parser calls by its first name.
std::string typedName(const std::string& name, const CLI::App& command, const Words& arguments) {
  const CLI::Option* option = command.get_option_no_throw(name);
  std::string typed = name;
  for (const std::string& argument : arguments) {
    if (option != nullptr && argument.starts_with("-") && option->check_name(nameOf(argument)))
      typed = nameOf(argument);
  }
  return typed;
}

/// Finds the key that an unknown option means, so that the message can name it for --set: "training.epochs"
/// for --epochs. Empty if the command has no --set, or if no key has this name.
std::string settingNamed(const std::string& option, const CLI::App& command) {
  const CLI::Option* set = command.get_option_no_throw("--set");
  std::string name = option.substr(std::min(option.find_first_not_of('-'), option.size()));
  if (set == nullptr || name.empty()) return {};
  std::ranges::replace(name, '-', '_');
  for (const std::string& word : valueWords(command, *set).words) {
    const std::string path = word.substr(0, word.find('='));
    if (path.substr(path.rfind('.') + 1) == name) return path;
  }
  return {};
}

std::string unexpected(const CLI::App& command, const Words& arguments) {
  const Words extra = command.remaining(true);
  const std::string first = extra.empty() ? arguments.back() : extra.front();
  if (!first.starts_with("-")) {
    return fmt::format("\"{}\" is one argument too many. `{} --help` shows what it takes.", first,
                       calledAs(command));
  }
  Words known;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  }
  if (const std::string key = settingNamed(nameOf(first), command); !key.empty()) {
    return fmt::format("There is no option {}, but --set {}=VALUE sets its key. `{} --help` lists all.",
                       nameOf(first), key, calledAs(command));
  }
  const std::string near = config::nearest(nameOf(first), known);
  return fmt::format("There is no option {}{} `{} --help` lists all.", nameOf(first),
                     near.empty() ? "." : "; did you mean " + near + "?", calledAs(command));
}

std::string missing(const CLI::App& command, const std::string& said) {
  if (command.get_parent() == nullptr) return "A command is missing: `pipescope --help` lists them.";
  const std::string name = said.substr(0, said.find(' '));
  return fmt::format("`{0}` needs the argument {1}: `{0} --help` shows what it takes.", calledAs(command),
                     name);
}

/// The parts of a message that the groups of a pattern match; none if the whole message does not match. A
/// message holds what the user typed, which may be long, so the engine must take linear time and no stack.
Words partsOf(const std::string& said, const char* pattern) {
  const re2::RE2 whole(std::string("(?s)") + pattern);
  std::vector<re2::StringPiece> groups(static_cast<std::size_t>(whole.NumberOfCapturingGroups()) + 1);
  if (!whole.Match(said, 0, said.size(), re2::RE2::ANCHOR_BOTH, groups.data(),
                   static_cast<int>(groups.size())))
    return {};
  Words parts;
  for (std::size_t i = 1; i < groups.size(); ++i) parts.emplace_back(groups[i].data(), groups[i].size());
  return parts;
}

std::string notAmong(const std::string& option, const std::string& value, const std::string& words) {
  Words known;
  for (std::size_t from = 0; from <= words.size();) {
    const std::size_t comma = std::min(words.find(',', from), words.size());
    known.push_back(words.substr(from, comma - from));
    from = comma + 1;
  }
  return fmt::format("{} is \"{}\", but it must be one of {}{}", option, value, fmt::join(known, ", "),
                     base::didYouMean(value, known));
}

/// Sentences for the messages that the parser's own checks give.
std::string wrongValue(const std::string& said, const CLI::App& command, const Words& arguments) {
  Words parts;
  const auto is = [&](const char* pattern) { return !(parts = partsOf(said, pattern)).empty(); };
  const auto typed = [&] { return typedName(parts[0], command, arguments); };
  if (is("(\\S+): Value (.*) not in range (\\S+) to (\\S+)"))
    return fmt::format("{} is {}, but it must be between {} and {}.", typed(), parts[1], parts[2], parts[3]);
  if (is("(\\S+): (.*) not in \\{(.*)\\}")) return notAmong(typed(), parts[1], parts[2]);
  if (is("Could not convert: (\\S+) = (.*)"))
    return fmt::format("{} is \"{}\", but it must be a number.", typed(), parts[1]);
  if (is("(\\S+): [0-9]+ required \\S+ missing")) return fmt::format("{} needs a value.", typed());
  if (is("Expected exactly [0-9]+ arguments to (\\S+), got ([0-9]+)")) {
    if (parts[1] == "0") return fmt::format("{} needs a value.", typed());
    return fmt::format("{} is given {} times, but it takes one value: leave all but one out.", typed(),
                       parts[1]);
  }
  if (is("(\\S+): At Most [0-9]+ required but .*"))
    return fmt::format("{} is given several times, but it takes one value: leave all but one out.", typed());
  if (is("(\\S+) was given a disallowed flag override") || is("(\\S+): too many inputs for a flag")) {
    // The parser leaves out the dashes of a flag that must have no value.
    return fmt::format("{} takes no value.", parts[0].starts_with("-") ? typed() : "--" + parts[0]);
  }
  return said.ends_with(".") ? said : said + ".";
}

}  // namespace

std::string usageSentence(const CLI::ParseError& error, const CLI::App& program, const Words& arguments) {
  const CLI::App& command = commandOf(program);
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) return unexpected(command, arguments);
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    // The first missing argument is told only if nothing unknown was typed.
    return command.remaining(true).empty() ? missing(command, error.what()) : unexpected(command, arguments);
  }
  return wrongValue(error.what(), command, arguments);
}

std::vector<std::string> wordsOf(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t begin = type.find('{'), end = type.find('}', begin);
  Words words;
  if (end == std::string::npos) return words;
  for (std::size_t at = begin + 1; at <= end;) {
    const std::size_t comma = std::min(type.find(',', at), end);
    words.push_back(type.substr(at, comma - at));
    at = comma + 1;
  }
  return words;
}

std::string missingWords(const std::string& description, const Words& words) {
  const bool named = std::all_of(words.begin(), words.end(), [&](const std::string& word) {
    return description.find(word) != std::string::npos;
  });
  return named ? "" : fmt::format(". One of {}", fmt::join(words, ", "));
}

std::string placeholderOf(const CLI::Option& option) {
  if (option.get_type_size() == 0) return {};
  const std::string type = option.get_type_name();
  return type.substr(0, type.find(':'));
}

}  // namespace pipescope::cli
