#include <fmt/format.h>

#include <atomic>
#include <cmath>

#include "profiler/sections/section.h"

namespace pipescope::sections {
namespace {

std::atomic<ByteUnits> byteUnits = ByteUnits::binary;

std::string withSeparators(std::int64_t number) {
  std::string digits = std::to_string(number);
  const std::size_t sign = number < 0 ? 1 : 0;
  for (std::size_t place = digits.size(); place > sign + 3;) {
    place -= 3;
    digits.insert(place, ",");
  }
  return digits;
}

/// Three significant digits, trailing zeros kept out.
std::string significant(double value) {
  if (value == 0) return "0";
  const double size = std::fabs(value);
  if (size >= 999.5) return withSeparators(std::llround(value));
  const int decimals = size >= 99.95 ? 0 : size >= 9.995 ? 1 : size >= 0.9995 ? 2 : 3;
  return fmt::format("{:.{}f}", value, decimals);
}

std::string scaled(double value, const char* const* units, int count, double step) {
  int unit = 0;
  while (unit + 1 < count && std::fabs(value) >= step * 0.9995) {
    value /= step;
    ++unit;
  }
  return fmt::format("{} {}", unit == 0 ? significant(std::round(value)) : significant(value), units[unit]);
}

std::string seconds(double value) {
  const double size = std::fabs(value);
  if (size >= 1 || value == 0) return significant(value) + " s";
  if (size >= 1e-3) return significant(value * 1e3) + " ms";
  if (size >= 1e-6) return significant(value * 1e6) + " µs";
  return significant(value * 1e9) + " ns";
}

std::string formatBytes(double value) {
  static constexpr const char* binary[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  static constexpr const char* decimal[] = {"B", "kB", "MB", "GB", "TB"};
  switch (byteUnits.load()) {
    case ByteUnits::decimal:
      return scaled(value, decimal, 5, 1000);
    case ByteUnits::bytes:
      return withSeparators(std::llround(value)) + " B";
    case ByteUnits::binary:
      break;
  }
  return scaled(value, binary, 5, 1024);
}

std::string formatNumber(double value, Format format) {
  if (std::isnan(value)) return "not a number";
  if (std::isinf(value)) return value > 0 ? "infinite" : "−infinite";
  switch (format) {
    case Format::count:
    case Format::ticks:
      return withSeparators(std::llround(value));
    case Format::bytes:
      return formatBytes(value);
    case Format::fraction:
      return fmt::format("{:.1f} %", value * 100);
    case Format::ratio:
      return fmt::format("{:.3f}", value);
    case Format::seconds:
      return seconds(value);
    case Format::rate:
      return significant(value) + " /s";
    case Format::byteRate: {
      static constexpr const char* units[] = {"B/s", "kB/s", "MB/s", "GB/s", "TB/s"};
      return scaled(value, units, 5, 1000);
    }
    case Format::plain:
      break;
  }
  return fmt::format("{:.6g}", value);
}

struct CellFormatter {
  Format format;
  double ticksPerShownUnit;
  std::string number(double value) const {
    if (format == Format::ticks && ticksPerShownUnit != 1)
      return fmt::format("{:.6g}", value / ticksPerShownUnit);
    return formatNumber(value, format);
  }
  std::string operator()(std::monostate) const { return "–"; }
  std::string operator()(std::int64_t n) const {
    return format == Format::plain ? std::to_string(n) : number(static_cast<double>(n));
  }
  std::string operator()(double x) const { return number(x); }
  std::string operator()(const std::string& s) const { return s; }
  std::string operator()(bool b) const { return b ? "yes" : "no"; }
  std::string operator()(const Breakdown& parts) const {
    std::string text;
    for (const auto& [name, value] : parts)
      text += fmt::format("{}{} {}", text.empty() ? "" : " · ", name, number(value));
    return text.empty() ? "–" : text;
  }
};

}  // namespace

void setByteUnits(ByteUnits units) {
  byteUnits = units;
}

std::string formatCell(const Cell& cell, Format format, double ticksPerShownUnit) {
  return std::visit(CellFormatter{format, ticksPerShownUnit}, cell);
}

std::string shortList(const std::string& words) {
  constexpr std::size_t kMostShown = 3, kShort = 24;
  std::vector<std::string> list;
  for (std::size_t at = 0; at < words.size();) {
    const std::size_t end = std::min(words.find(' ', at), words.size());
    if (end > at) list.push_back(words.substr(at, end - at));
    at = end + 1;
  }
  if (list.size() <= kMostShown || words.size() <= kShort) return words;
  return fmt::format("{} … {} ({})", list.front(), list.back(), list.size());
}

}  // namespace pipescope::sections
