#include "profiler/import/time_text.h"

#include <algorithm>
#include <charconv>

namespace pipescope::importing {
namespace {

constexpr Picoseconds kLongest = Picoseconds{10'000'000'000'000} * 1'000'000'000'000;
/// Digits that are kept; more cannot change a time below kLongest by a picosecond.
constexpr int kMostDigits = 30;

bool isDigit(char c) {
  return c >= '0' && c <= '9';
}

}  // namespace

std::optional<Picoseconds> parseTime(std::string_view text, std::int64_t unit) {
  std::size_t at = 0;
  const bool negative = at < text.size() && text[at] == '-';
  if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
  Picoseconds digits = 0;
  int kept = 0, power = 0, seen = 0;
  bool fraction = false;
  for (; at < text.size() && (isDigit(text[at]) || (text[at] == '.' && !fraction)); ++at) {
    if (text[at] == '.') {
      fraction = true;
      continue;
    }
    ++seen;
    if (kept < kMostDigits) {
      digits = digits * 10 + (text[at] - '0');
      if (digits != 0) ++kept;
      if (fraction) --power;
    } else if (!fraction) {
      ++power;
    }
  }
  if (seen == 0) return std::nullopt;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && text[at] == '+') ++at;
    int exponent = 0;
    const auto [end, failed] = std::from_chars(text.data() + at, text.data() + text.size(), exponent);
    if (failed != std::errc() || exponent > 1000 || exponent < -1000) return std::nullopt;
    at = static_cast<std::size_t>(end - text.data());
    power += exponent;
  }
  if (at != text.size()) return std::nullopt;
  // The unit's factors of ten cancel the decimals first. What is left of either is 1, so that the product
  // below cannot overflow.
  Picoseconds scale = unit;
  for (; power < 0 && scale % 10 == 0; ++power) scale /= 10;
  if (digits > kLongest * 1'000) {
    // Only decimals far below a picosecond can make the digits this large.
    for (; power < 0 && digits > kLongest; ++power) digits /= 10;
    if (digits > kLongest) return std::nullopt;
  }
  if (digits != 0 && scale > kLongest * 1'000 / digits && power >= 0) return std::nullopt;
  Picoseconds result = digits * scale;
  for (; power > 0 && result != 0; --power) {
    if (result > kLongest) return std::nullopt;
    result *= 10;
  }
  for (; power < -1 && result != 0; ++power) result /= 10;
  if (power == -1) result = (result + 5) / 10;
  if (result > kLongest) return std::nullopt;
  return negative ? -result : result;
}

}  // namespace pipescope::importing
