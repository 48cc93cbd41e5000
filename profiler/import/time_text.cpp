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

/// Reads digits with at most one point, as nearly all traces state times, without the cost of the general
/// case. None: another form, or more digits than 64 bits hold.
std::optional<Picoseconds> parsePlainTime(std::string_view text, std::int64_t unit) {
  constexpr std::size_t kMostPlain = 20;  // 19 digits and a point
  if (text.empty() || text.size() > kMostPlain) return std::nullopt;
  std::uint64_t digits = 0;  // 19 digits are less than 2^64
  std::size_t count = 0, decimals = 0;
  bool fraction = false;
  for (const char c : text) {
    if (c == '.' && !fraction) {
      fraction = true;
      continue;
    }
    if (!isDigit(c)) return std::nullopt;
    digits = digits * 10 + static_cast<std::uint64_t>(c - '0');
    ++count;
    decimals += fraction ? 1 : 0;
  }
  if (count == 0 || count > 19) return std::nullopt;
  for (; decimals > 0 && unit % 10 == 0; --decimals) unit /= 10;
  if (decimals > 0) return std::nullopt;
  const Picoseconds result = static_cast<Picoseconds>(digits) * unit;
  return result <= kLongest ? std::optional(result) : std::nullopt;
}

}  // namespace

std::optional<Picoseconds> parseTime(std::string_view text, std::int64_t unit) {
  if (const auto plain = parsePlainTime(text, unit)) return plain;
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
