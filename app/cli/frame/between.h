#pragma once
// Checks the range of an option's number. The parser's own check words its message otherwise in each version.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>

namespace pipescope::cli {

/// Refuses numbers outside of [least, most] and texts that are no numbers. usageSentence() knows the message.
template <typename Number>
CLI::Validator between(Number least, Number most) {
  const auto check = [least, most](std::string& text) -> std::string {
    using CLI::detail::lexical_cast;
    Number value{};
    if (lexical_cast(text, value) && value >= least && value <= most) return {};
    return fmt::format("Value {} not in range {} to {}", text, least, most);
  };
  return CLI::Validator(check, "");
}

}  // namespace pipescope::cli
