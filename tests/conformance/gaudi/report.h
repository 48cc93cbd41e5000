#pragma once
// Compares emulated Gaudis with published measurements, point by point and by device and workload.
#include <string>
#include <vector>

#include "tests/conformance/gaudi/point.h"

namespace pipescope::conformance {

struct PointResult {
  Point point;
  double ours = 0;    ///< in the unit of point.measured
  std::string fault;  ///< reason why there is no figure; empty if there is one
  /// ln(emulated ÷ measured) of the time. Rates are inverted, so above 0 the emulated card is slower.
  double logarithm() const;
  /// True if the error exceeds the point's tolerance.
  bool outside() const;
  /// True if the rate at which the host prepares samples, which the point states, decides the result. Such a
  /// point says nothing about the card.
  bool boundByHost() const;
};

std::vector<PointResult> emulateAll(const std::vector<Point>& points);

/// A table with a row for each point, and a row for each device and workload.
std::string toText(const std::vector<PointResult>& results);
/// The text of resources/devices/gaudi_bands.toml.
std::string toBands(const std::vector<PointResult>& results);

}  // namespace pipescope::conformance
