#pragma once
// How far emulated Gaudis are from what was published, point by point and by device and workload.
#include <string>
#include <vector>

#include "tests/conformance/gaudi/point.h"

namespace pipescope::conformance {

struct PointResult {
  Point point;
  double ours = 0;    ///< in the unit of point.measured
  std::string fault;  ///< why there is no figure; empty: there is one
  /// ln(emulated ÷ measured) of the time: rates are turned round, so that above 0 the emulated card is
  /// slower.
  double logarithm() const;
  bool outside() const;  ///< further off than the point's tolerance
};

std::vector<PointResult> emulateAll(const std::vector<Point>& points);

/// A row a point, and a row for each device and workload.
std::string toText(const std::vector<PointResult>& results);
/// The text of resources/devices/gaudi_bands.toml.
std::string toBands(const std::vector<PointResult>& results);

}  // namespace pipescope::conformance
