#pragma once
// Lists the words that may follow an option, for the completions of shells, where the option itself does not
// list them.
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace pipescope::cli {

struct ValueWords {
  std::vector<std::string> words;
  bool isPath = false;
  /// The value goes on after the word: a key of the configuration is followed by its new value.
  bool goesOn = false;
};

/// The words that a command offers for the value of an option or argument: those that the option lists, names
/// of systems, builders, schedules and executables, or keys of the configuration. Neither words nor a path:
/// nothing can be offered, as for a number.
ValueWords valueWords(const CLI::App& command, const CLI::Option& option);

}  // namespace pipescope::cli
