#include "app/plan/varied_values.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

namespace pipescope::app {
namespace {

using base::badInput;

constexpr std::size_t kMostValues = 10'000;

std::string trimmedValue(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t"), last = text.find_last_not_of(" \t");
  return first == std::string_view::npos ? "" : std::string(text.substr(first, last - first + 1));
}

/// Splits at commas outside brackets and quotes.
std::vector<std::string> listedValues(std::string_view text) {
  std::vector<std::string> values(1);
  int depth = 0;
  bool quoted = false;
  for (const char c : text) {
    if (c == '"') quoted = !quoted;
    if (!quoted && c == '[') ++depth;
    if (!quoted && c == ']') --depth;
    if (c == ',' && depth == 0 && !quoted) {
      values.emplace_back();
    } else {
      values.back() += c;
    }
  }
  for (std::string& value : values) value = trimmedValue(value);
  return values;
}

std::optional<double> wholeText(std::string_view text) {
  double value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || failed != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    return std::nullopt;
  return value;
}

struct ValueRange {
  double first = 0, last = 0, step = 1;
  bool multiplies = false;
};

/// "1..64*2", "1..8" or "10..50+10". Nothing: the text is no range.
std::optional<ValueRange> rangeIn(std::string_view text) {
  const std::size_t dots = text.find("..");
  if (dots == std::string_view::npos) return std::nullopt;
  ValueRange range;
  std::string_view rest = text.substr(dots + 2);
  const std::size_t sign = rest.find_first_of("*+");
  if (sign != std::string_view::npos) {
    const std::optional<double> step = wholeText(rest.substr(sign + 1));
    if (!step) return std::nullopt;
    range.step = *step;
    range.multiplies = rest[sign] == '*';
    rest = rest.substr(0, sign);
  }
  const std::optional<double> first = wholeText(text.substr(0, dots)), last = wholeText(rest);
  if (!first || !last) return std::nullopt;
  range.first = *first;
  range.last = *last;
  return range;
}

base::Result<std::vector<std::string>> valuesOfRange(const std::string& text, const ValueRange& range) {
  const bool grows = range.multiplies ? range.step > 1 && range.first > 0 : range.step > 0;
  if (!grows || range.last < range.first) {
    return badInput(fmt::format(
        "--vary {}: the range never reaches its end. Write for example 1..64*2, 1..8 or 10..50+10.", text));
  }
  std::vector<std::string> values;
  double value = range.first;
  for (std::size_t i = 1; value <= range.last * (1 + 1e-12); ++i) {
    if (values.size() == kMostValues)
      return badInput(fmt::format("--vary {}: the range has more than {} values.", text, kMostValues));
    values.push_back(fmt::format("{:.12g}", value));
    value = range.multiplies ? value * range.step : range.first + static_cast<double>(i) * range.step;
  }
  return values;
}

}  // namespace

base::Result<std::vector<std::string>> variedValues(const std::string& text) {
  const std::string right = trimmedValue(std::string_view(text).substr(text.find('=') + 1));
  if (const std::optional<ValueRange> range = rangeIn(right)) return valuesOfRange(text, *range);
  return listedValues(right);
}

}  // namespace pipescope::app
