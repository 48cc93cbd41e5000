#pragma once
// One published measurement of a Gaudi, and the model's value for it.
#include <map>
#include <string>
#include <vector>

#include "profiler/base/result.h"

namespace pipescope::conformance {

struct Point {
  std::string device;  ///< chip or system
  int cards = 1;
  std::string workload;  ///< gemm, all_reduce, all_gather, train, prefill, decode, scaling
  std::map<std::string, std::string> parameters;  ///< "key=value" pairs
  double measured = 0;
  double tolerance = 0;  ///< the allowed error as a share of `measured`; 0: the point is not judged
  std::string source;
  std::string chose;  ///< figures of the device that were chosen by this point; empty: none
};

/// Reads a CSV with a line of column names: device, cards, workload, parameters, measured, and optionally
/// tolerance, source and chose. Skips lines that begin with #. Errors name file and line.
base::Result<std::vector<Point>> readPoints(const std::string& file);
base::Result<std::vector<Point>> parsePoints(const std::string& text, const std::string& display);

/// The chip of the point's device, which may be a box.
std::string chipOf(const Point& point);

/// The model's value in the unit of `measured`. Errors name what the point lacks.
base::Result<double> emulate(const Point& point);

}  // namespace pipescope::conformance
