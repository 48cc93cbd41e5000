#pragma once
// The form of the help texts of commands.
#include <CLI/CLI.hpp>
#include <string>

namespace pipescope::cli {

/// Two columns of which the second is wrapped, so that lines stay within the
/// terminal, and within 110 characters.
class HelpFormat : public CLI::Formatter {
 public:
  std::string make_option(const CLI::Option* option, bool isPositional) const override;
};

}  // namespace pipescope::cli
