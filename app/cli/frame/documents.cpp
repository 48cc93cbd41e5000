#include "app/cli/frame/documents.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/cli/frame/usage.h"
#include "profiler/base/version.h"

namespace pipescope::cli {
namespace {

using Commands = std::vector<CommandDocument>;

OptionDocument documentOption(const CLI::App& command, const CLI::Option& option) {
  OptionDocument document;
  for (const std::string& name : option.get_snames()) document.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) document.names.push_back("--" + name);
  document.positional = option.get_positional();
  if (document.positional) document.names = {option.get_name(true)};
  document.placeholder = placeholderOf(option);
  document.help = option.get_description();
  document.group = option.get_group();
  document.words = wordsOf(option);
  document.offered = valueWords(command, option);
  document.repeats = option.get_expected_max() > 1;
  return document;
}

/// The first sentence, for lists with one line for each option.
std::string firstSentence(const std::string& help) {
  const std::size_t stop = std::min(help.find(". "), help.find(" ["));
  std::string sentence = help.substr(0, stop);
  if (sentence.ends_with(".")) sentence.pop_back();
  return sentence;
}

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
  return text;
}

std::string roff(const std::string& text) {
  std::string escaped = replaced(replaced(text, "\\", "\\e"), "-", "\\-");
  if (escaped.starts_with(".") || escaped.starts_with("'")) escaped = "\\&" + escaped;
  return replaced(escaped, "\n", "\n\\&");
}

std::string roffOption(const OptionDocument& option) {
  std::string heading;
  for (const std::string& name : option.names)
    heading += fmt::format("{}{}{}\\fR", heading.empty() ? "" : ", ", option.positional ? "\\fI" : "\\fB",
                           roff(name));
  if (!option.positional && !option.placeholder.empty())
    heading += " \\fI" + roff(option.placeholder) + "\\fR";
  std::string text =
      ".TP\n" + heading + "\n" + roff(option.help) + roff(missingWords(option.help, option.words));
  return text + (text.ends_with(".") || text.ends_with("]") ? "\n" : ".\n");
}

std::string roffCommand(const CommandDocument& command) {
  std::string text = fmt::format(".SS pipescope {}\n{}.\n", roff(command.name), roff(command.help));
  std::string group;
  for (const OptionDocument& option : command.options) {
    if (option.group.empty()) continue;
    if (option.group != group && option.group.starts_with("Keys of"))
      text += ".PP\n\\fB" + roff(option.group) + "\\fR\n";
    group = option.group;
    text += roffOption(option);
  }
  if (!command.example.empty()) text += ".PP\nExample:\n.PP\n.nf\n    " + roff(command.example) + "\n.fi\n";
  return text;
}

std::vector<std::string> flagsOf(const CommandDocument& command) {
  std::vector<std::string> flags;
  for (const OptionDocument& option : command.options) {
    if (!option.positional) flags.insert(flags.end(), option.names.begin(), option.names.end());
  }
  return flags;
}

std::vector<std::string> commandNames(const Commands& commands) {
  std::vector<std::string> names;
  for (const CommandDocument& command : commands) names.push_back(command.name);
  return names;
}

/// Words of the first positional argument; none: files.
std::vector<std::string> positionalWords(const CommandDocument& command) {
  for (const OptionDocument& option : command.options) {
    if (option.positional) return option.offered.words;
  }
  return {};
}

std::string zshText(const std::string& text) {
  std::string safe = replaced(text, "'", "’");
  for (const char* c : {"[", "]", ":"}) safe = replaced(safe, c, std::string("\\") + c);
  return safe;
}

std::string zshOption(const OptionDocument& option) {
  std::string lines;
  const ValueWords& offered = option.offered;
  const std::string list = fmt::format("{}", fmt::join(offered.words, " "));
  const std::string words = offered.goesOn ? "{compadd -S \"\" -- " + list + "}" : "(" + list + ")";
  const std::string value = option.placeholder.empty() ? ""
                            : offered.words.empty()
                                ? ":" + zshText(option.placeholder) + (offered.isPath ? ":_files" : ": ")
                                : ":" + zshText(option.placeholder) + ":" + words;
  for (const std::string& name : option.names) {
    if (option.positional) {
      lines += fmt::format("      '*:{}:{}' \\\n", zshText(name), offered.words.empty() ? "_files" : words);
    } else {
      lines += fmt::format("      '{}{}[{}]{}' \\\n", option.repeats ? "*" : "", name,
                           zshText(firstSentence(option.help)), value);
    }
  }
  return lines;
}

std::string fishText(const std::string& text) {
  return replaced(replaced(text, "\\", "\\\\"), "'", "\\'");
}

std::string fishOption(const std::string& condition, const OptionDocument& option) {
  std::string line = "complete -c pipescope -n '" + condition + "'";
  if (option.positional)
    return option.offered.words.empty()
               ? ""
               : fmt::format("{} -f -a '{}'\n", line, fmt::join(option.offered.words, " "));
  for (const std::string& name : option.names)
    line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  if (!option.offered.words.empty()) {
    line += fmt::format(" -x -a '{}'", fmt::join(option.offered.words, " "));
  } else if (!option.placeholder.empty()) {
    line += option.offered.isPath ? " -r -F" : " -x";
  }
  return line + " -d '" + fishText(firstSentence(option.help)) + "'\n";
}

}  // namespace

Commands documentCommands(const CLI::App& program) {
  Commands commands;
  for (const CLI::App* command : program.get_subcommands([](const CLI::App*) { return true; })) {
    CommandDocument document{command->get_name(), command->get_description(), command->get_footer(), {}};
    document.example =
        document.example.substr(document.example.find_first_not_of(' ', document.example.find('\n') + 1));
    for (const CLI::Option* option : command->get_options())
      document.options.push_back(documentOption(*command, *option));
    commands.push_back(std::move(document));
  }
  return commands;
}

std::string manualPage(const Commands& commands) {
  std::string page =
      fmt::format(".TH PIPESCOPE 1 \"\" \"pipescope {}\" \"Pipescope\"\n", base::version()) +
      ".SH NAME\npipescope \\- run models on emulated IPUs and Gaudis, and read the profiles\n"
      ".SH SYNOPSIS\n\\fBpipescope\\fR \\fICOMMAND\\fR [\\fIOPTIONS\\fR]\n"
      ".SH DESCRIPTION\nPipescope emulates models on systems with many accelerators. \\fBrun\\fR computes "
      "the "
      "model and records when each device works, waits and communicates, and what its memory holds. The "
      "other "
      "commands read such profiles. \\fBpipescope\\-gui\\fR shows them in a window.\n.SH COMMANDS\n";
  for (const CommandDocument& command : commands) page += roffCommand(command);
  return page +
         ".SH ENVIRONMENT\nEvery key of a configuration outside of arrays has a variable, such as "
         "\\fBPIPESCOPE_TRAINING_EPOCHS\\fR for training.epochs. A value is taken from a flag, else from the "
         "variable, else from the file, else it is the default.\n"
         ".SH \"EXIT STATUS\"\n.TP\n0\nThe work is done.\n.TP\n1\nThe answer is no: a check failed, the "
         "model "
         "does not fit, the loss is not a number, a profile is damaged, or the run was stopped.\n.TP\n2\nThe "
         "usage or an input is wrong. Nothing was written.\n.TP\n3\nAn internal fault.\n"
         ".SH \"SEE ALSO\"\n\\fBpipescope help\\fR \\fIKEY\\fR explains a key of a configuration.\n";
}

std::string bashCompletion(const Commands& commands) {
  std::string values, flags, words;
  for (const CommandDocument& command : commands) {
    flags += fmt::format("    {}) flags='{}' ;;\n", command.name, fmt::join(flagsOf(command), " "));
    if (const auto own = positionalWords(command); !own.empty())
      words += fmt::format("    {}) words='{}' ;;\n", command.name, fmt::join(own, " "));
    for (const OptionDocument& option : command.options) {
      if (option.positional || option.placeholder.empty()) continue;
      std::string cases;
      for (const std::string& name : option.names)
        cases += (cases.empty() ? "" : "|") + command.name + ":" + name;
      const ValueWords& offered = option.offered;
      const std::string list = fmt::format("{}", fmt::join(offered.words, " "));
      if (!list.empty())
        values += fmt::format("    {}) {}COMPREPLY=($(compgen -W '{}' -- \"$word\")); return ;;\n", cases,
                              offered.goesOn ? "compopt -o nospace 2>/dev/null; " : "", list);
      if (list.empty() && offered.isPath)
        values += fmt::format("    {}) COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n", cases);
      if (list.empty() && !offered.isPath) values += fmt::format("    {}) return ;;\n", cases);
    }
  }
  return "# Completion of pipescope for bash\n_pipescope() {\n"
         "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]} "
         "flags= "
         "words=\n"
         "  COMPREPLY=()\n"
         "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n    COMPREPLY=($(compgen -W '" +
         fmt::format("{}", fmt::join(commandNames(commands), " ")) +
         " --help --version' -- \"$word\"))\n    return\n  fi\n"
         "  case $command:$before in\n" +
         values + "  esac\n  case $command in\n" + flags + "  esac\n  case $command in\n" + words +
         "  esac\n  if [[ $word == -* ]]; then\n    COMPREPLY=($(compgen -W \"$flags $words\" -- "
         "\"$word\"))\n"
         "  elif [ -n \"$words\" ]; then\n    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
         "  else\n    COMPREPLY=($(compgen -f -- \"$word\"))\n  fi\n}\n"
         "complete -o filenames -F _pipescope pipescope\n";
}

std::string zshCompletion(const Commands& commands) {
  std::string list, cases;
  for (const CommandDocument& command : commands) {
    list += fmt::format("    '{}:{}'\n", command.name, zshText(command.help));
    cases += fmt::format("    {})\n      _arguments \\\n", command.name);
    for (const OptionDocument& option : command.options) cases += zshOption(option);
    cases += "      && return ;;\n";
  }
  return "#compdef pipescope\n# Completion of pipescope for zsh\n_pipescope() {\n  local -a commands\n  "
         "commands=(\n" +
         list +
         "  )\n  if (( CURRENT == 2 )); then\n    _describe 'command' commands\n    return\n  fi\n"
         "  local command=$words[2]\n  shift words\n  (( CURRENT-- ))\n  case $command in\n" +
         cases + "  esac\n}\n_pipescope \"$@\"\n";
}

std::string fishCompletion(const Commands& commands) {
  std::string text = "# Completion of pipescope for fish\n";
  for (const CommandDocument& command : commands) {
    text += fmt::format("complete -c pipescope -n '__fish_use_subcommand' -f -a {} -d '{}'\n", command.name,
                        fishText(command.help));
    for (const OptionDocument& option : command.options)
      text += fishOption("__fish_seen_subcommand_from " + command.name, option);
  }
  return text;
}

}  // namespace pipescope::cli
