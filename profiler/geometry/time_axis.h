#pragma once
// Times as people read them, and the ticks of an axis.
#include <string>
#include <vector>

#include "profiler/base/result.h"
#include "profiler/geometry/time_view.h"

namespace pipescope::geometry {

enum class TimeUnit {
  cycles,     ///< ticks as they are, called cycles
  time,       ///< s, ms, µs, ns
  costUnits,  ///< ticks ÷ ticksPerSecond, for systems whose costs have no unit
};

/// How a profile's ticks are shown.
struct TimeScale {
  TimeUnit unit = TimeUnit::cycles;
  std::int64_t ticksPerSecond = 1'000'000;
  friend bool operator==(const TimeScale&, const TimeScale&) = default;
};

/// What an axis with these times is called: "cycles", "time" or "cost units".
const char* axisUnit(const TimeScale& scale);
/// "1,234,567".
std::string groupedNumber(std::int64_t number);
/// "12,345 cycles", "9.28 µs", "3.5 units": three significant digits unless ticks are exact.
std::string formatDuration(Ticks ticks, const TimeScale& scale);

/// "12345", "12,345 cycles", "1.5 ms", "3 units": a time as people write it; bare numbers are of the scale's
/// unit, or cycles where that is time. The error says what can be written.
base::Result<Ticks> parseTime(const std::string& text, const TimeScale& scale);

struct AxisTick {
  double x = 0;
  std::string label;
};

/// Ticks at 1, 2 or 5 times a power of ten, at least `spacing` pixels apart, within the view.
std::vector<AxisTick> axisTicks(const TimeView& view, const TimeScale& scale, double spacing);

/// The smallest 1, 2 or 5 times a power of ten that is not below `value` (> 0).
double niceStep(double value);

}  // namespace pipescope::geometry
