// pipescope help explains commands, configuration keys and flags. It also prints the manual page and the
// completions of shells, which the build installs.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <span>
#include <sstream>
#include <string_view>

#include "app/cli/frame/command.h"
#include "app/cli/frame/documents.h"
#include "app/run/request/configuration_keys.h"
#include "app/run/request/user_folders.h"
#include "engine/config/configuration_help.h"
#include "engine/config/suggestion.h"
#include "engine/devices/system_registry.h"
#include "profiler/sections/frame/schema.h"

namespace pipescope::cli {

std::span<const std::pair<std::string_view, std::string_view>> embeddedHelp();

/// A file of resources/help.
std::string_view embeddedText(std::string_view name) {
  for (const auto& [path, text] : embeddedHelp()) {
    if (path == name) return text;
  }
  return {};
}

namespace {

struct HelpOptions {
  std::string topic, shell;
  bool manual = false;
};

/// All words that `help` knows, to suggest one of them.
std::vector<std::string> topics(const CLI::App& program) {
  std::vector<std::string> all = app::configurationKeys().paths();
  for (const config::Key& key : app::configurationKeys().all())
    all.insert(all.end(), key.flags.begin(), key.flags.end());
  for (const CommandDocument& command : documentCommands(program)) {
    for (const OptionDocument& option : command.options) {
      if (!option.positional && option.names.back().starts_with("--"))
        all.push_back(option.names.back().substr(2));
    }
  }
  for (const CLI::App* command : program.get_subcommands([](const CLI::App*) { return true; }))
    all.push_back(command->get_name());
  for (const sections::SectionDefinition& section : sections::sectionRegistry().all())
    all.push_back(section.name);
  std::istringstream lines{std::string(embeddedText("help/pages.md"))};
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("## ")) all.push_back(line.substr(3));
  }
  return all;
}

/// The commands that have a flag of their own with this name, with what it does there.
std::string helpOnCommandFlag(const CLI::App& program, const std::string& word) {
  std::string text;
  for (const CommandDocument& command : documentCommands(program)) {
    for (const OptionDocument& option : command.options) {
      if (option.positional || std::ranges::find(option.names, "--" + word) == option.names.end()) continue;
      text += fmt::format("{}pipescope {} --{}{}{}\n{}", text.empty() ? "" : "\n", command.name, word,
                          option.placeholder.empty() ? "" : " ", option.placeholder,
                          config::wrapped(option.help, config::kHelpWidth, "  "));
    }
  }
  return text;
}

/// Help of the configuration on a word: keys, settings of a builder or optimizer, a table, a value. Empty if
/// the word is none of these.
std::string configurationHelpOn(const std::string& topic) {
  const config::KeyTable& keys = app::configurationKeys();
  if (topic.starts_with("[")) return config::tableHelp(keys, topic);
  std::string text;
  for (const config::Key* key : config::keysMeant(keys, topic))
    text += (text.empty() ? "" : "\n") + config::keyHelp(*key);
  for (const auto& more : {config::choiceHelp, config::tableHelp, config::valueHelp}) {
    if (text.empty()) text = more(keys, topic);
  }
  return text;
}

/// Meaning of a word of the glossary, which the window shows at headings, too. Empty if the glossary does not
/// have it.
std::string glossaryHelpOn(const std::string& topic) {
  std::string wanted = topic;
  std::ranges::transform(wanted, wanted.begin(),
                         [](unsigned char c) { return c == '_' ? ' ' : std::tolower(c); });
  std::istringstream lines{std::string(embeddedText("help/glossary.md"))};
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(": ");
    if (!line.starts_with("- ") || colon == std::string::npos) continue;
    const std::string word = line.substr(2, colon - 2);
    if (word == wanted || word + "s" == wanted)
      return word + "\n" + config::wrapped(line.substr(colon + 2), config::kHelpWidth, "  ");
  }
  return {};
}

/// The whole glossary, or all systems; empty for another word.
std::string listHelpOn(const std::string& topic) {
  std::string text;
  if (topic == "glossary") {
    std::istringstream lines{std::string(embeddedText("help/glossary.md"))};
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("- ")) text += config::wrapped(line.substr(2), config::kHelpWidth, "  ");
    }
    return "Words of the reports and of the window\n" + text;
  }
  if (topic != "systems") return text;
  for (const std::string& name : devices::knownSystems(app::userConfigurationFolder()))
    text += (text.empty() ? "" : ", ") + name;
  return "Systems and chips that can be emulated; `pipescope devices` describes them\n" +
         config::wrapped(text + ".", config::kHelpWidth, "  ");
}

/// The topic that the word may have meant: one that is spelt nearly so, or a system that begins with it.
std::string topicNear(const CLI::App& program, const std::string& word) {
  const std::string near = config::nearest(word, topics(program));
  if (!near.empty() || word.size() < 3) return near;
  for (const std::string& name : devices::knownSystems(app::userConfigurationFolder())) {
    if (name.starts_with(word)) return name;
  }
  return near;
}

/// Help on a section of the reports with all its figures, or on one of them (stages.imbalance). Empty: there
/// is no such section or figure.
std::string sectionHelpOn(const std::string& topic) {
  const std::string name = topic.substr(0, topic.find('.'));
  const std::string figure = name.size() < topic.size() ? topic.substr(name.size() + 1) : "";
  const sections::SectionDefinition* section = sections::sectionRegistry().find(name);
  if (section == nullptr) return {};
  const base::Result<std::string> schema = sections::schemaOfSection(name);
  if (!schema.ok()) return {};
  const auto described = nlohmann::ordered_json::parse(*schema);
  std::string text;
  for (const auto& [key, value] : described.at("properties").items()) {
    const std::string meaning = value.value("description", "");
    if (meaning.empty() || (!figure.empty() && key != figure)) continue;
    text += fmt::format("  {}\n{}", key, config::wrapped(meaning, config::kHelpWidth - 4, "      "));
  }
  if (!figure.empty()) return text.empty() ? "" : fmt::format("Figure of section {}\n{}", name, text);
  const std::string start = section->doc + ". `pipescope report PROFILE --section " + name + "` prints it.";
  return fmt::format("Section {} of the reports\n{}\n{}", name,
                     config::wrapped(start, config::kHelpWidth, "  "), text);
}

/// The paragraph of pages.md on a page of the window; empty if there is no such page.
std::string pageHelpOn(const std::string& topic) {
  std::istringstream lines{std::string(embeddedText("help/pages.md"))};
  std::vector<std::string> paragraphs;  // of the page, and then of each of its panels
  bool found = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("## ")) {
      found = line.substr(3) == topic;
      if (found) paragraphs.emplace_back();
    } else if (found && line.starts_with("### ")) {
      paragraphs.push_back(line.substr(4) + ": ");
    } else if (found) {
      paragraphs.back() += line + " ";
    }
  }
  if (paragraphs.empty()) return {};
  std::string text = fmt::format("Page {} of the window\n", topic);
  for (const std::string& paragraph : paragraphs)
    text += config::wrapped(paragraph, config::kHelpWidth, "  ");
  return text;
}

/// Description of a chip or system; empty for another word.
std::string systemHelpOn(const std::string& topic) {
  devices::SystemOptions options;
  options.userFolder = app::userConfigurationFolder();
  const auto system = devices::makeSystem(topic, options);
  if (!system.ok()) return {};
  return fmt::format(
      "{}\n{}", topic,
      config::wrapped(fmt::format("{}. `pipescope run CONFIG.toml --system {}` emulates it; "
                                  "`pipescope devices {}` shows its figures with their sources.",
                                  (*system)->description(), topic, topic),
                      config::kHelpWidth, "  "));
}

base::Result<std::string> explain(const CLI::App& program, const std::string& topic) {
  // CLI::App::help() would give the help of the command "help", which was parsed.
  if (topic.empty())
    return program.get_formatter()->make_help(&program, program.get_name(), CLI::AppFormatMode::Normal);
  for (const CLI::App* command : program.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_name() == topic) {
      const std::string page = pageHelpOn(topic);
      return command->help("pipescope") + (page.empty() ? "" : "\n" + page);
    }
  }
  std::string text = configurationHelpOn(topic);
  std::string word = topic;
  word.erase(0, std::min(word.size(), word.find_first_not_of('-')));
  if (text.empty()) text = helpOnCommandFlag(program, word);
  if (text.empty()) text = glossaryHelpOn(topic);
  if (text.empty()) text = systemHelpOn(topic);
  if (text.empty()) text = listHelpOn(topic);
  for (const auto& more : {sectionHelpOn, pageHelpOn}) {
    const std::string found = more(topic);
    text += (text.empty() || found.empty() ? "" : "\n") + found;
  }
  if (!text.empty()) return text;
  const std::string near = topicNear(program, word);
  return base::badInput(fmt::format(
      "There is no command, configuration key, flag, system, section, page or word of the glossary \"{}\"{} "
      "`pipescope run --help-keys` lists all keys.",
      topic, near.empty() ? "." : "; did you mean " + near + "?"));
}

base::Result<std::string> helpText(const CLI::App& program, const HelpOptions& options) {
  if (options.manual) return manualPage(documentCommands(program));
  if (options.shell == "bash") return bashCompletion(documentCommands(program));
  if (options.shell == "zsh") return zshCompletion(documentCommands(program));
  if (options.shell == "fish") return fishCompletion(documentCommands(program));
  return explain(program, options.topic);
}

std::function<int()> setUpHelp(CLI::App& command) {
  auto options = std::make_shared<HelpOptions>();
  command.add_option(
      "topic", options->topic,
      "A command, a configuration key such as training.epochs, its environment variable, a flag such as "
      "--epochs or --fail-if, a value such as popart, or a table such as training, or a builder or optimizer "
      "such as decoder or adamw, whose keys are listed then, a system such as gaudi2, a section of the "
      "reports such as waits or one of its figures such as stages.imbalance, a page of the window such as "
      "trace, or a word of the reports such as bubble; glossary and systems list all words and systems");
  command.add_flag("--man", options->manual, "Print the manual page, for man -l");
  command.add_option("--completions", options->shell, "Print the completions of a shell")
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  const CLI::App* program = command.get_parent();
  return [options, program] {
    const base::Result<std::string> text = helpText(*program, *options);
    return text.ok() ? print(*text) : fail(text.error());
  };
}

}  // namespace

PIPESCOPE_REGISTER_COMMAND(help) {
  registry.add({"help", "Explain a command, a configuration key or a flag", setUpHelp,
                "pipescope help training.epochs"});
}

}  // namespace pipescope::cli
