#include "profiler/base/number_text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <system_error>

namespace pipescope::base {
namespace {

template <class Number>
std::optional<Number> readNumber(std::string_view text) {
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return std::nullopt;
  }
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || last != end) return std::nullopt;
  return number;
}

std::string formatted(double number, std::chars_format format, int precision) {
  std::array<char, 512> text;  // the longest double has 309 digits before the point
  const auto [last, error] = std::to_chars(text.data(), text.data() + text.size(), number, format, precision);
  return error == std::errc() ? std::string(text.data(), last) : std::string();
}

}  // namespace

std::string groupedText(std::int64_t number) {
  std::string text = std::to_string(number);
  const std::size_t first = number < 0 ? 1 : 0;
  for (std::size_t at = text.size(); at > first + 3; at -= 3) text.insert(at - 3, ",");
  return text;
}

std::optional<double> numberOf(std::string_view text) {
  return readNumber<double>(text);
}

std::optional<std::int64_t> wholeNumberOf(std::string_view text) {
  return readNumber<std::int64_t>(text);
}

std::string fixedText(double number, int decimals) {
  return formatted(number, std::chars_format::fixed, decimals);
}

std::string shortText(double number, int digits) {
  return formatted(number, std::chars_format::general, digits);
}

}  // namespace pipescope::base
