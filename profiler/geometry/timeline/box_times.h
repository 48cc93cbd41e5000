#pragma once
// Computes the times of a placement's boxes from its start and their offsets, in ticks of the axis.
#include <cmath>

#include "profiler/analysis/timeline/trace.h"

namespace pipescope::geometry {

class BoxTimes {
 public:
  BoxTimes(const analysis::Trace& trace, int device, const analysis::TracePlacement& placement,
           const analysis::FlameRow& row)
      : start_(placement.start),
        scale_(trace.devices[static_cast<std::size_t>(device)].axisTicksPerTick),
        row_(row) {}

  base::Ticks start(std::size_t box) const { return at(row_.boxes[box].offset); }
  base::Ticks end(std::size_t box) const { return at(row_.boxes[box].end); }

 private:
  base::Ticks at(base::Ticks offset) const {
    return start_ +
           (scale_ == 1.0 ? offset : base::Ticks(std::llround(static_cast<double>(offset.count) * scale_)));
  }
  base::Ticks start_;
  double scale_;
  const analysis::FlameRow& row_;
};

}  // namespace pipescope::geometry
