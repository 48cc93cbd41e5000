#include "profiler/geometry/counter_text.h"

#include <algorithm>
#include <cmath>

#include "profiler/base/byte_text.h"
#include "profiler/base/number_text.h"

namespace pipescope::geometry {
namespace {

constexpr double kMostExact = 1e15;  // whole numbers below are exact in a double
const char* const kByteUnit = "B";

std::string plainNumber(double value) {
  const bool whole = std::fabs(value) < kMostExact && value == std::round(value);
  return whole ? base::fixedText(value, 0) : base::shortText(value, 3);
}

bool isBytes(double value, const std::string& unit) {
  return unit == kByteUnit && std::fabs(value) < kMostExact;
}

}  // namespace

std::string counterText(double value, const std::string& unit) {
  if (isBytes(value, unit)) return base::byteText(std::llround(value));
  return unit.empty() ? plainNumber(value) : plainNumber(value) + " " + unit;
}

CounterAxis counterAxis(const analysis::CounterSeries& series) {
  const double low = std::min(0.0, series.smallest);
  return {low, std::max(series.largest, low + 1e-12)};
}

std::string counterScale(const analysis::CounterSeries& series) {
  const CounterAxis axis = counterAxis(series);
  const std::string& unit = series.counter.unit;
  const auto end = [&](double value) {
    return value != 0 && isBytes(value, unit) ? counterText(value, unit) : plainNumber(value);
  };
  return end(axis.low) + (axis.low < 0 ? " … " : "–") + end(axis.high);
}

}  // namespace pipescope::geometry
