#pragma once
// Rule by which the placements of a device count, so that their times add up to the time that the device is
// busy.
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "profiler/base/intervals.h"

namespace pipescope::analysis {

/// Finds the parts of placements that count. A moment in which several placements go on counts on the first
/// lane that works in it, and on that lane for the placement that started first. Placements of a lane overlap
/// where a collective goes on beside the barriers of a drain.
class CountedOnce {
 public:
  /// Starts the next lane. Lanes come in the order of their ids.
  void nextLane() {
    before_ = all_.joined();
    until_ = base::Ticks(INT64_MIN);
  }

  /// Adds a placement of the lane and calls part(from, to) for each part of it that counts. Placements of a
  /// lane come in the order of their starts.
  template <class Part>
  void add(base::Ticks start, base::Ticks end, Part&& part) {
    base::forEachFreePart(before_, std::max(start, until_), end, part);
    all_.add(start, end);
    until_ = std::max(until_, end);
  }

  /// Returns the time in which any placement goes on, as ascending intervals that do not touch.
  std::vector<base::Intervals::Interval> busy() const { return all_.joined(); }
  base::Ticks busyLength() const { return all_.unionLength(); }

 private:
  base::Intervals all_;
  std::vector<base::Intervals::Interval> before_;  ///< times that earlier lanes have counted
  base::Ticks until_{INT64_MIN};                   ///< end of the lane's placements so far
};

}  // namespace pipescope::analysis
