#pragma once
// Gains that changes of a recorded call would bring, for reports that try many.
#include "profiler/replay/what_if.h"

namespace pipescope::replay {

/// The executable's last call, shortened to few iterations, so that trials are quick. Errors: the call is too
/// long, or it cannot be replayed.
base::Result<Recording> recordingForTrials(const ChangeContext& context, model::ExecutableId executable);
/// The first iterations of a call.
Recording shortened(const Recording& recording);

struct Trial {
  double gain = 0;  ///< rate with the changes ÷ recorded rate − 1
  double stepTicksAfter = 0;
  std::optional<double> samplesPerSecond;  ///< rate with the changes
  std::optional<bool> fits;                ///< none: the recording does not tell
  std::vector<std::string> remarks;
};
/// Replays the recording with changes. `before` is its replay without changes. Errors: see applyChanges.
base::Result<Trial> tryChanges(const ChangeContext& context, const Recording& recording,
                               const ReplayedCall& before, const std::vector<Change>& changes);

}  // namespace pipescope::replay
