#include "engine/plan/layer_profiles/layer_parser.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace pipescope::plan {

std::string at(const std::string& file, int line) {
  return fmt::format("{}, line {}: ", file, line);
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

base::Result<double> readCost(std::string_view text, std::string_view what, const std::string& file,
                              int line) {
  text = trimmed(text);
  double value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  constexpr double kMost = 1e15;
  if (read.ec != std::errc() || read.ptr != text.data() + text.size() || !std::isfinite(value) || value < 0 ||
      value > kMost) {
    return base::badInput(
        fmt::format("{}{} must be a number between 0 and 1e15, but is \"{}\".", at(file, line), what, text));
  }
  return value;
}

base::Result<double> readSizes(std::string_view text, std::string_view what, const std::string& file,
                               int line) {
  text = trimmed(text);
  if (!text.starts_with('[')) return readCost(text, what, file, line);
  if (!text.ends_with(']')) {
    return base::badInput(
        fmt::format("{}the list of {} has no closing bracket: \"{}\".", at(file, line), what, text));
  }
  text = text.substr(1, text.size() - 2);
  double sum = 0;
  while (true) {
    const std::size_t end = text.find(';');
    PIPESCOPE_ASSIGN(const double each, readCost(text.substr(0, end), what, file, line));
    sum += each;
    if (end == std::string_view::npos) return sum;
    text.remove_prefix(end + 1);
  }
}

}  // namespace pipescope::plan
