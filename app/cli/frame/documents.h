#pragma once
// The manual page and the completions of shells. All derive from the options of the commands.
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "app/cli/frame/value_words.h"

namespace pipescope::cli {

struct OptionDocument {
  std::vector<std::string> names;  ///< "--epochs", "-o"; of a positional argument its name without dashes
  std::string placeholder;         ///< placeholder of the value: "N"; empty: the option takes none
  std::string help, group;
  std::vector<std::string> words;  ///< words that the value may be; empty: any
  ValueWords offered;              ///< words that completions offer
  bool positional = false, repeats = false;
};

struct CommandDocument {
  std::string name, help, example;
  std::vector<OptionDocument> options;
};

/// Describes all commands of the program with their options, for the manual page and the completions.
std::vector<CommandDocument> documentCommands(const CLI::App& program);

/// A page for `man`, in roff with the macros of man(7).
std::string manualPage(const std::vector<CommandDocument>& commands);
/// Scripts that complete command lines in bash, zsh and fish.
std::string bashCompletion(const std::vector<CommandDocument>& commands);
std::string zshCompletion(const std::vector<CommandDocument>& commands);
std::string fishCompletion(const std::vector<CommandDocument>& commands);

}  // namespace pipescope::cli
