#pragma once
// The form of the help texts of commands.
#include <CLI/CLI.hpp>
#include <string>

namespace pipescope::cli {

/// Wraps lines at the width of the terminal, at most 110 characters. Texts of options and commands stand in a
/// second column.
class HelpFormat : public CLI::Formatter {
 public:
  std::string make_option(const CLI::Option* option, bool isPositional) const override;
  std::string make_subcommand(const CLI::App* command) const override;
  std::string make_description(const CLI::App* command) const override;
  std::string make_footer(const CLI::App* command) const override;
};

}  // namespace pipescope::cli
