#pragma once
// Writes and reads times for people, and places the ticks of an axis.
#include <string>
#include <vector>

#include "profiler/base/result.h"
#include "profiler/geometry/timeline/time_view.h"

namespace pipescope::geometry {

enum class TimeUnit {
  cycles,     ///< ticks, called cycles
  time,       ///< s, ms, µs, ns
  costUnits,  ///< ticks ÷ ticksPerSecond, for systems whose costs have no unit of time
};

/// Scale that shows the ticks of a profile.
struct TimeScale {
  TimeUnit unit = TimeUnit::cycles;
  std::int64_t ticksPerSecond = 1'000'000;
  friend bool operator==(const TimeScale&, const TimeScale&) = default;
};

/// Returns the name of an axis with these times: "cycles", "time" or "cost units".
const char* axisUnit(const TimeScale& scale);
/// Writes a number as "1,234,567".
std::string groupedNumber(std::int64_t number);
/// Writes a length as "12,345 cycles", "9.28 µs" or "3.5 cost units". Times have three significant digits,
/// cycles all digits.
std::string formatDuration(Ticks ticks, const TimeScale& scale);

/// Reads a time such as "12345", "12,345 cycles", "1.5 ms" or "3 cost units". A number alone has the unit of
/// the scale, or counts cycles if that unit is time. The error says how to write times.
base::Result<Ticks> parseTime(const std::string& text, const TimeScale& scale);

struct AxisTick {
  double x = 0;
  std::string label;
};

/// Ticks at 1, 2 or 5 times a power of ten within the view, at least `spacing` pixels apart. Times are
/// counted from `origin`; if one is given, there are no ticks before it.
std::vector<AxisTick> axisTicks(const TimeView& view, const TimeScale& scale, double spacing,
                                Ticks origin = Ticks(0));

/// The smallest number that is 1, 2 or 5 times a power of ten and not below `value` (> 0).
double niceStep(double value);
/// A step that is round in its binary unit, such as 100 KiB instead of 97.65625 KiB, and divides `largest`
/// bytes into at most `count` parts.
double niceBytesStep(double largest, int count);

}  // namespace pipescope::geometry
