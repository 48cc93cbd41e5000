#pragma once
// The form of the help texts of commands.
#include <CLI/CLI.hpp>
#include <string>

namespace pipescope::cli {

/// Wraps all texts, and those of options and commands in a second column, so that lines stay within the
/// terminal, and within 110 characters.
class HelpFormat : public CLI::Formatter {
 public:
  std::string make_option(const CLI::Option* option, bool isPositional) const override;
  std::string make_subcommand(const CLI::App* command) const override;
  std::string make_description(const CLI::App* command) const override;
  std::string make_footer(const CLI::App* command) const override;
};

}  // namespace pipescope::cli
