#include "profiler/figures/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cmath>

#include "profiler/base/number_text.h"
#include "profiler/base/printable.h"
#include "profiler/figures/figure.h"

namespace pipescope::figures {
namespace {

std::atomic<ByteUnits> byteUnits = ByteUnits::binary;
std::atomic<CycleUnits> cycleUnits = CycleUnits::cycles;
std::atomic<bool> minusSign = false;

using base::groupedText;

/// Formats a value with three significant digits.
std::string significant(double value) {
  if (value == 0) return "0";
  const double size = std::fabs(value);
  if (size >= 999.5) return groupedText(std::llround(value));
  const int decimals = size >= 99.95 ? 0 : size >= 9.995 ? 1 : size >= 0.9995 ? 2 : 3;
  return fmt::format("{:.{}f}", value, decimals);
}

std::string scaled(double value, const char* const* units, int count, double step,
                   const char* between = " ") {
  int unit = 0;
  while (unit + 1 < count && std::fabs(value) >= step * 0.9995) {
    value /= step;
    ++unit;
  }
  const bool whole = unit == 0 && value == std::round(value);  // "6 B" rather than "6.00 B"
  return fmt::format("{}{}{}", whole ? groupedText(std::llround(value)) : significant(value), between,
                     units[unit]);
}

std::string seconds(double value) {
  const double size = std::fabs(value);
  if (size >= 1 || value == 0) return significant(value) + " s";
  if (size >= 1e-3) return significant(value * 1e3) + " ms";
  if (size >= 1e-6) return significant(value * 1e6) + " µs";
  return significant(value * 1e9) + " ns";
}

std::string formatBytes(double value) {
  if (value > 0 && value < 1) return "< 1 B";  // a mean; there are no parts of a byte
  static constexpr const char* binary[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  static constexpr const char* decimal[] = {"B", "kB", "MB", "GB", "TB"};
  switch (byteUnits.load()) {
    case ByteUnits::decimal:
      return scaled(value, decimal, 5, 1000);
    case ByteUnits::bytes:
      return groupedText(std::llround(value)) + " B";
    case ByteUnits::binary:
      break;
  }
  return scaled(value, binary, 5, 1024);
}

/// The share from which on tenths of a percent say nothing.
constexpr double kManyTimes = 10;

/// A small share is not said to be none, unless it may come from rounding alone.
std::string percentText(double share) {
  constexpr double kRounding = 1e-9;
  if (std::fabs(share) >= kManyTimes) return groupedText(std::llround(share * 100)) + " %";
  std::string text = fmt::format("{:.1f} %", share * 100);
  if (std::fabs(share) < kRounding || text.find_first_of("123456789") != std::string::npos) return text;
  return share > 0 ? "< 0.1 %" : "> -0.1 %";
}

std::string formatNumber(double value, Format format) {
  if (std::isnan(value)) return "not a number";
  if (std::isinf(value)) return value > 0 ? "infinite" : "−infinite";
  switch (format) {
    case Format::count:
    case Format::ticks:
      return groupedText(std::llround(value));
    case Format::bytes:
      return formatBytes(value);
    case Format::fraction:
      return percentText(value);
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
    case Format::amount: {
      static constexpr const char* prefixes[] = {"", " k", " M", " G", " T", " P", " E"};
      return scaled(value, prefixes, 7, 1000, "");
    }
    case Format::plain:
    case Format::truth:
    case Format::index:
    case Format::number:
    case Format::list:
    case Format::stage:
    case Format::term:
    case Format::ofRow:
      break;
  }
  return groupedDigits(fmt::format("{:.6g}", value));
}

/// Splits "layer7" into ("layer", 7). The number is −1 if the word has none, or if it has leading zeros or
/// more than 9 digits.
std::pair<std::string, std::int64_t> numbered(const std::string& word) {
  constexpr std::size_t kMostDigits = 9;
  const std::size_t last = word.find_last_not_of("0123456789");
  const std::string digits = word.substr(last == std::string::npos ? 0 : last + 1);
  if (digits.empty() || digits.size() > kMostDigits || (digits.size() > 1 && digits[0] == '0'))
    return {word, -1};
  return {word.substr(0, word.size() - digits.size()), base::wholeNumberOf(digits).value_or(-1)};
}

/// Joins consecutively numbered words: layer0 layer1 layer2 becomes layer0..2.
std::vector<std::string> joinNumbered(const std::vector<std::string>& words) {
  std::vector<std::string> joined;
  for (std::size_t i = 0; i < words.size();) {
    const auto [name, first] = numbered(words[i]);
    std::size_t next = i + 1;
    while (first >= 0 && next < words.size() &&
           numbered(words[next]) == std::pair(name, first + static_cast<std::int64_t>(next - i)))
      ++next;
    joined.push_back(next == i + 1
                         ? words[i]
                         : fmt::format("{}..{}", words[i], first + static_cast<std::int64_t>(next - i) - 1));
    i = next;
  }
  return joined;
}

/// Five significant digits, without zeros at the end of the decimals.
std::string shownTicks(double value) {
  if (!std::isfinite(value)) return formatNumber(value, Format::number);
  std::string text = fmt::format("{:.{}f}", value, significantDecimals(std::fabs(value)));
  if (text.find('.') != std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.ends_with('.')) text.pop_back();
  }
  return groupedDigits(std::move(text));
}

std::string words(std::string term) {
  if (term == "hbm" || term == "sram") std::ranges::transform(term, term.begin(), ::toupper);
  std::ranges::replace(term, '_', ' ');
  return term;
}

struct CellFormatter {
  Format format;
  double ticksPerShownUnit;
  std::string number(double value) const {
    if (format == Format::ticks && ticksPerShownUnit != 1) return shownTicks(value / ticksPerShownUnit);
    return formatNumber(value, format);
  }
  std::string operator()(std::monostate) const { return "–"; }
  std::string operator()(std::int64_t n) const {
    if (format == Format::stage) return n < 0 ? "–" : "stage " + std::to_string(n);
    const bool plain = format == Format::plain || format == Format::index;
    return plain ? std::to_string(n) : number(static_cast<double>(n));
  }
  std::string operator()(double x) const { return number(x); }
  std::string operator()(const std::string& s) const {
    return format == Format::list ? shortList(s) : format == Format::term ? words(s) : s;
  }
  std::string operator()(bool b) const { return b ? "yes" : "no"; }
  /// Text leaves out parts that are 0 or have no value. Parts in bytes are categories and regions.
  std::string operator()(const Breakdown& parts) const {
    std::string text;
    bool known = false;
    for (const auto& [name, amount] : parts) {
      known = known || !std::holds_alternative<std::monostate>(amount);
      const double value = numberOf(amount);
      if (value == 0) continue;
      text += fmt::format("{}{} {}", text.empty() ? "" : " · ", format == Format::bytes ? words(name) : name,
                          number(value));
    }
    return !text.empty() ? text : known ? number(0) : "–";
  }
};

}  // namespace

int significantDecimals(double largest) {
  constexpr int kDigits = 5, kMost = 4;
  if (largest <= 0) return 0;
  return std::clamp(kDigits - 1 - static_cast<int>(std::floor(std::log10(largest))), 0, kMost);
}

std::string groupedDigits(std::string number) {
  const std::size_t end = number.find_first_not_of("-0123456789");
  if (end != std::string::npos && number[end] != '.') return number;  // has an exponent
  const std::size_t whole = std::min(end, number.size()), sign = number.starts_with('-') ? 1 : 0;
  for (std::size_t place = whole; place > sign + 3;) {
    place -= 3;
    number.insert(place, ",");
  }
  return number;
}

void useMinusSign(bool wanted) {
  minusSign = wanted;
}

std::string withMinus(std::string number) {
  if (!minusSign) return number;
  const std::size_t sign = number.starts_with("> -") ? 2 : 0;  // "> -0.1 %"
  if (sign + 1 < number.size() && number[sign] == '-' &&
      std::isdigit(static_cast<unsigned char>(number[sign + 1])) != 0)
    number.replace(sign, 1, "−");
  return number;
}

void setCycleUnits(CycleUnits units) {
  cycleUnits = units;
}

ShownTime shownCycles(double cyclesPerSecond) {
  if (cycleUnits.load() == CycleUnits::seconds && cyclesPerSecond > 0)
    return {cyclesPerSecond * 1e-6, "µs", cyclesPerSecond};
  return {1, "cycles", cyclesPerSecond};
}

void setByteUnits(ByteUnits units) {
  byteUnits = units;
}

std::string formatCell(const Cell& cell, Format format, double ticksPerShownUnit) {
  std::string text = std::visit(CellFormatter{format, ticksPerShownUnit}, cell);
  if (std::holds_alternative<std::string>(cell)) return base::printableName(text);
  const bool isZero = text.starts_with("-0") && text.find_first_of("123456789") == std::string::npos;
  if (isZero) text.erase(0, 1);
  return withMinus(std::move(text));
}

namespace {

/// Rounds to three significant digits: 281,437 becomes 281,000.
std::string roughly(double value) {
  double unit = 1;
  while (std::fabs(value) / unit >= 999.5) unit *= 10;
  return unit == 1 ? fmt::format("{:.3g}", value)
                   : groupedText(std::llround(value / unit) * std::llround(unit));
}

/// A unit of time in which a number of seconds is at least 1 with five digits, and its name.
std::pair<double, const char*> unitOfSeconds(double seconds) {
  static constexpr std::pair<double, const char*> kUnits[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "µs"}};
  for (const auto& known : kUnits)
    if (std::fabs(seconds) >= known.first * 0.999995 || seconds == 0) return known;
  return {1e-9, "ns"};
}

/// Seconds with five significant digits: 2.0026 s, 975.3 µs.
std::string exactSeconds(double value) {
  if (!std::isfinite(value)) return formatNumber(value, Format::number);
  const auto [unit, name] = unitOfSeconds(value);
  return shownTicks(value / unit) + " " + name;
}

std::string costText(const std::string& number) {
  return number + (number == "1" ? " cost unit" : " cost units");
}

}  // namespace

std::string timeText(double ticks, const ShownTime& time, TimeStyle style) {
  const double value = ticks / time.ticks;
  const bool exact = style == TimeStyle::exact || style == TimeStyle::exactChart;
  const bool inChart = style == TimeStyle::chart || style == TimeStyle::exactChart;
  if (inChart && (time.isCycles() || time.isCosts())) return formatCell(ticks, Format::ticks, time.ticks);
  if (!std::isfinite(value)) return formatNumber(value, Format::number);
  if (time.isCycles()) {
    const std::string number = exact ? formatNumber(value, Format::ticks) : roughly(value);
    return withMinus(number + (number == "1" ? " cycle" : " cycles"));
  }
  if (time.isCosts()) return withMinus(costText(exact ? shownTicks(value) : roughly(value)));
  return withMinus(exact ? exactSeconds(value * 1e-6) : seconds(value * 1e-6));
}

std::string loneText(const Cell& value, Format format, const ShownTime& time) {
  const auto* whole = std::get_if<std::int64_t>(&value);
  const auto* mean = std::get_if<double>(&value);
  if (format != Format::ticks || (whole == nullptr && mean == nullptr))
    return formatCell(value, format, time.ticks);
  return timeText(whole != nullptr ? static_cast<double>(*whole) : *mean, time, TimeStyle::exact);
}

std::string cardText(const Cell& value, Format format, const ShownTime& time) {
  const std::string text = loneText(value, format, time);
  const auto* whole = std::get_if<std::int64_t>(&value);
  const auto* mean = std::get_if<double>(&value);
  if (format != Format::ticks || (whole == nullptr && mean == nullptr) || !(time.cyclesPerSecond > 0))
    return text;
  const double ticks = whole != nullptr ? static_cast<double>(*whole) : *mean;
  const ShownTime other = time.isCycles() ? ShownTime{time.cyclesPerSecond * 1e-6, "µs"} : ShownTime();
  return text + " (" + timeText(ticks, other, time.isCycles() ? TimeStyle::sentence : TimeStyle::exact) + ")";
}

std::string withoutUnitOf(const std::string& other, const std::string& text) {
  const auto unitOf = [](const std::string& words) {
    // A unit may have several words: it is all that follows the number.
    std::size_t blank = words.find(' ');
    while (blank != std::string::npos && (blank == 0 || words[blank - 1] < '0' || words[blank - 1] > '9'))
      blank = words.find(' ', blank + 1);
    return blank == std::string::npos ? std::string() : words.substr(blank);
  };
  const std::string unit = unitOf(text);
  return unit.empty() || unit != unitOf(other) ? text : text.substr(0, text.size() - unit.size());
}

std::string rangeText(const Cell& least, const Cell& most, Format format, const ShownTime& time) {
  const std::optional<double> from = numberIn(least), to = numberIn(most);
  const bool inTime = format == Format::ticks && !time.isCycles() && !time.isCosts();
  if (!inTime || !from || !to || !std::isfinite(*from))
    return withoutUnitOf(loneText(most, format, time), loneText(least, format, time)) + " … " +
           loneText(most, format, time);
  const double seconds = 1e-6 / time.ticks;
  const std::pair<double, const char*> unit = unitOfSeconds(*to * seconds);
  const auto text = [&](double ticks, int decimals) {
    return fmt::format("{:.{}f}", ticks * seconds / unit.first, decimals);
  };
  int decimals = significantDecimals(std::fabs(*to * seconds / unit.first));
  while (decimals > 0 && text(*from, decimals).ends_with('0') && text(*to, decimals).ends_with('0'))
    --decimals;
  return fmt::format("{} … {} {}", withMinus(groupedDigits(text(*from, decimals))),
                     withMinus(groupedDigits(text(*to, decimals))), unit.second);
}

std::string fromToText(const std::string& from, const std::string& to) {
  return withoutUnitOf(to, from) + " → " + to;
}

std::string shortList(const std::string& words) {
  constexpr std::size_t kMostShown = 3, kShort = 24;
  if (words.size() <= kShort) return words;
  std::vector<std::string> list;
  for (std::size_t at = 0; at < words.size();) {
    const std::size_t end = std::min(words.find(' ', at), words.size());
    if (end > at) list.push_back(words.substr(at, end - at));
    at = end + 1;
  }
  const std::vector<std::string> joined = joinNumbered(list);
  if (joined.size() > kMostShown) return fmt::format("{} … {} ({})", list.front(), list.back(), list.size());
  return fmt::format("{}", fmt::join(joined, " "));
}

}  // namespace pipescope::figures
