#include "profiler/import/read/time_text.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>

namespace pipescope::importing {
namespace {

constexpr Picoseconds kLongest = Picoseconds{10'000'000'000'000} * 1'000'000'000'000;
/// Digits that are kept; more cannot change a time below kLongest by a picosecond.
constexpr int kMostDigits = 30;

bool isDigit(char c) {
  return c >= '0' && c <= '9';
}

constexpr std::size_t kDigitsAtOnce = 8;

/// True if all eight bytes are digits: their upper halves are 3, also after 6 is added.
bool areDigits(std::uint64_t bytes) {
  constexpr std::uint64_t kUpper = 0xF0F0F0F0F0F0F0F0ULL, kThrees = 0x3333333333333333ULL;
  const std::uint64_t shifted = (bytes + 0x0606060606060606ULL) & kUpper;
  return ((bytes & kUpper) | (shifted >> 4U)) == kThrees;
}

/// The number of eight digits, the first of which is the lowest byte. Neighbours are joined to numbers of
/// two, four and eight digits.
std::uint64_t numberOf(std::uint64_t bytes) {
  constexpr std::uint64_t kPairs = 0x00FF00FF00FF00FFULL, kFours = 0x0000FFFF0000FFFFULL;
  bytes &= 0x0F0F0F0F0F0F0F0FULL;
  bytes = (bytes * 10 + (bytes >> 8U)) & kPairs;
  bytes = (bytes * 100 + (bytes >> 16U)) & kFours;
  return (bytes * 10'000 + (bytes >> 32U)) & 0xFFFFFFFFULL;
}

/// Appends the digits at the front of `text` to `digits` and removes them. Returns their number.
std::size_t takeDigits(std::string_view& text, std::uint64_t& digits) {
  std::size_t count = 0;
  if constexpr (std::endian::native == std::endian::little) {
    std::uint64_t bytes = 0;
    while (text.size() >= kDigitsAtOnce) {
      std::memcpy(&bytes, text.data(), kDigitsAtOnce);
      if (!areDigits(bytes)) break;
      digits = digits * 100'000'000 + numberOf(bytes);
      text.remove_prefix(kDigitsAtOnce);
      count += kDigitsAtOnce;
    }
  }
  for (; !text.empty() && isDigit(text.front()); text.remove_prefix(1), ++count)
    digits = digits * 10 + static_cast<std::uint64_t>(text.front() - '0');
  return count;
}

/// Reads digits with at most one point, as nearly all traces state times, without the cost of the general
/// case. None: another form, or more digits than 64 bits hold.
std::optional<Picoseconds> parsePlainTime(std::string_view text, std::int64_t unit) {
  std::uint64_t digits = 0;  // 19 digits are less than 2^64
  std::size_t count = takeDigits(text, digits), decimals = 0;
  if (!text.empty() && text.front() == '.') {
    text.remove_prefix(1);
    decimals = takeDigits(text, digits);
    count += decimals;
  }
  if (!text.empty() || count == 0 || count > 19) return std::nullopt;
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
