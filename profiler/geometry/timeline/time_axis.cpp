#include "profiler/geometry/timeline/time_axis.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <system_error>

#include "profiler/base/number_text.h"

namespace pipescope::geometry {
namespace {

struct NamedUnit {
  double size;
  const char* name;
};
constexpr std::array<NamedUnit, 4> kTimeUnits = {{{1, "s"}, {1e-3, "ms"}, {1e-6, "µs"}, {1e-9, "ns"}}};
/// A label with more decimals than this uses the next smaller unit instead.
constexpr int kMostDecimals = 4;
/// An axis has at most this many ticks, whatever a damaged file claims.
constexpr int kMostTicks = 1000;

std::string grouped(double value, int decimals) {
  std::string text = base::fixedText(std::abs(value), decimals);
  const std::size_t point = std::min(text.find('.'), text.size());
  for (std::size_t at = point; at > 3; at -= 3) text.insert(at - 3, ",");
  const bool zero = text.find_first_of("123456789") == std::string::npos;
  return value < 0 && !zero ? "−" + text : text;
}

/// Costs are given, not measured, so they have up to four decimals.
std::string costText(double value) {
  constexpr int kCostDecimals = 4;
  std::string text = grouped(value, kCostDecimals);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

int decimalsFor(double step) {
  return std::max(0, static_cast<int>(std::ceil(-std::log10(step) - 1e-9)));
}

/// The unit in which `largest` is at least 1 and `step` needs few decimals.
NamedUnit timeUnitFor(double largest, double step) {
  for (const NamedUnit& unit : kTimeUnits) {
    if (largest >= unit.size && decimalsFor(step / unit.size) <= kMostDecimals) return unit;
  }
  return kTimeUnits.back();
}

/// All labels of an axis have the same unit, which `step` and the largest value decide.
std::string cyclesLabel(double value, double step, double largest) {
  const auto whole = [&](double unit) { return std::fmod(step, unit) == 0.0; };
  if (value == 0) return "0";
  if (whole(1e9)) return grouped(value / 1e9, 0) + " G";
  if (largest >= 1e6 && whole(1e3)) return grouped(value / 1e6, decimalsFor(step / 1e6)) + " M";
  return grouped(value, 0);
}

}  // namespace

const char* axisUnit(const TimeScale& scale) {
  switch (scale.unit) {
    case TimeUnit::cycles:
      return "cycles";
    case TimeUnit::time:
      return "time";
    case TimeUnit::costUnits:
      break;
  }
  return "cost units";
}

std::string groupedNumber(std::int64_t number) {
  const std::string text = base::groupedText(number);
  return number < 0 ? "−" + text.substr(1) : text;
}

std::string formatDuration(Ticks ticks, const TimeScale& scale) {
  if (scale.unit == TimeUnit::cycles)
    return groupedNumber(ticks.count) + (ticks.count == 1 ? " cycle" : " cycles");
  const double value = base::toSeconds(ticks, {std::max<std::int64_t>(1, scale.ticksPerSecond)});
  if (scale.unit == TimeUnit::costUnits)
    return costText(value) + (value == 1.0 ? " cost unit" : " cost units");
  if (ticks.count == 0) return "0 s";
  NamedUnit chosen = kTimeUnits.back();
  for (const NamedUnit& unit : kTimeUnits) {
    if (std::abs(value) >= unit.size) {
      chosen = unit;
      break;
    }
  }
  const double scaled = value / chosen.size;
  const int decimals =
      std::clamp(2 - static_cast<int>(std::floor(std::log10(std::max(std::abs(scaled), 1e-3)))), 0, 3);
  return grouped(scaled, decimals) + " " + chosen.name;
}

base::Result<Ticks> parseTime(const std::string& text, const TimeScale& scale) {
  std::string digits;
  std::size_t at = 0;
  for (; at < text.size() &&
         (std::isdigit(static_cast<unsigned char>(text[at])) != 0 || text[at] == '.' || text[at] == ',');
       ++at) {
    if (text[at] != ',') digits += text[at];
  }
  while (at < text.size() && text[at] == ' ') ++at;
  const std::string unit = text.substr(at);
  const auto perSecond = static_cast<long double>(std::max<std::int64_t>(1, scale.ticksPerSecond));
  long double size = 0;
  if (unit == "cycles" || unit == "cycle" || (unit.empty() && scale.unit != TimeUnit::costUnits)) size = 1;
  if (unit == "cost units" || unit == "cost unit" || unit == "units" || unit == "unit" ||
      (unit.empty() && scale.unit == TimeUnit::costUnits))
    size = perSecond;
  for (const NamedUnit& known : kTimeUnits) {
    if (unit == known.name || (unit == "us" && known.size == 1e-6))
      size = static_cast<long double>(known.size) * perSecond;
  }
  const bool number = !digits.empty() && digits.find_first_of("0123456789") != std::string::npos &&
                      std::count(digits.begin(), digits.end(), '.') <= 1;
  long double ticks = -1;
  if (number && digits.size() < 20 &&
      std::from_chars(digits.data(), digits.data() + digits.size(), ticks).ec == std::errc())
    ticks *= size;
  if (size == 0 || !(ticks >= 0) || ticks > 9e18L) {
    return base::badInput("\"" + text +
                          "\" is no time: write cycles as 12345, or a length as 1.5ms (s, ms, us, ns).");
  }
  return Ticks(static_cast<std::int64_t>(std::llround(ticks)));
}

double niceStep(double value) {
  const double power = std::pow(10.0, std::floor(std::log10(value)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= value * (1 - 1e-12)) return factor * power;
  }
  return 10 * power;
}

double niceBytesStep(double largest, int count) {
  double unit = 1;
  while (largest / unit >= 1024) unit *= 1024;
  return niceStep(std::max(largest / unit / count, 1e-3)) * unit;
}

std::vector<AxisTick> axisTicks(const TimeView& view, const TimeScale& scale, double spacing, Ticks origin) {
  const double perTick = scale.unit == TimeUnit::cycles
                             ? 1.0
                             : 1.0 / static_cast<double>(std::max<std::int64_t>(1, scale.ticksPerSecond));
  double step = niceStep(view.ticksPerPixel() * perTick * std::max(1.0, spacing));
  if (scale.unit == TimeUnit::cycles) step = std::max(1.0, step);
  long double stepTicks = static_cast<long double>(step) / static_cast<long double>(perTick);
  if (std::abs(stepTicks - std::round(stepTicks)) < 1e-9L * stepTicks) stepTicks = std::round(stepTicks);
  const auto largest = static_cast<double>(std::max(std::abs((view.start() - origin).count),
                                                    std::abs((view.end() - origin).count))) *
                       perTick;
  const NamedUnit unit = timeUnitFor(largest, step);
  std::vector<AxisTick> ticks;
  const auto first = static_cast<std::int64_t>(
      std::ceil(static_cast<long double>((view.start() - origin).count) / stepTicks));
  for (std::int64_t k = first; k < first + kMostTicks; ++k) {
    const long double time = static_cast<long double>(k) * stepTicks;
    const long double whole = std::floor(time);  // deep zoom: axis ticks lie between clock ticks
    const double x = view.x(origin + Ticks(static_cast<std::int64_t>(whole))) +
                     static_cast<double>(time - whole) / view.ticksPerPixel();
    if (x > view.width()) break;
    if (x < 0 || (k < 0 && origin != Ticks(0))) continue;
    const double value = static_cast<double>(k) * step;
    switch (scale.unit) {
      case TimeUnit::cycles:
        ticks.push_back({x, cyclesLabel(value, step, largest)});
        break;
      case TimeUnit::costUnits:
        ticks.push_back({x, grouped(value, decimalsFor(step))});
        break;
      case TimeUnit::time:
        ticks.push_back({x, grouped(value / unit.size, decimalsFor(step / unit.size)) + " " + unit.name});
        break;
    }
  }
  return ticks;
}

}  // namespace pipescope::geometry
