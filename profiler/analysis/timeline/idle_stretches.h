#pragma once
// Finds the longest stretches in which a device has nothing to do, so that users can go to them.
#include <map>
#include <vector>

#include "profiler/analysis/catalog.h"

namespace pipescope::analysis {

/// A stretch of a device's waits that follow each other without work between them. Times are ticks of
/// device 0.
struct IdleStretch {
  model::DeviceId device, waitedForDevice;  ///< waitedForDevice: of the longest wait
  Ticks start, end;
  model::WaitCause cause = model::WaitCause::fill;      ///< of the largest part
  model::WaitCause waitCause = model::WaitCause::fill;  ///< of the longest wait
  std::map<model::WaitCause, Ticks> parts;              ///< they add up to the length
  std::int32_t iteration = -1;  ///< in which it begins, or the next one if it begins before an iteration
  Ticks length() const { return end - start; }
};

/// Stretches of a call, the longest first.
struct IdleStretches {
  std::vector<IdleStretch> longest;  ///< at most so many of each device and cause as were asked for
  std::int64_t count = 0;            ///< number of all stretches
};

/// The stretches of the executable's last call: of each device and cause the `most` longest ones.
Result<IdleStretches> idleStretches(const model::ProfileSource& source, const Catalog& catalog,
                                    model::ExecutableId executable, std::size_t most);

}  // namespace pipescope::analysis
