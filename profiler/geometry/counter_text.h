#pragma once
// Writes values of counters for people.
#include <string>

#include "profiler/analysis/pipeline/counters.h"

namespace pipescope::geometry {

/// "22.8 MiB", "7 micro-batches" or "0.0941". Values have three significant digits, whole numbers all.
std::string counterText(double value, const std::string& unit);

/// The ends of a drawn counter's axis, which holds 0: "0–22.8 MiB" or "0–7", without words for what is
/// counted.
std::string counterScale(const analysis::CounterSeries& series);

/// The smallest and the largest value on a counter's axis. The two always differ, so that the axis has a
/// length.
struct CounterAxis {
  double low = 0, high = 1;
};
/// Chooses the axis of a series.
CounterAxis counterAxis(const analysis::CounterSeries& series);

}  // namespace pipescope::geometry
