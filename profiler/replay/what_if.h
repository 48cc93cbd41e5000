#pragma once
// Time that a recorded call would take with changes: the difference in parts that add up, and the stages
// before and after.
#include <memory>
#include <optional>

#include "profiler/analysis/pipeline/stages.h"
#include "profiler/replay/change.h"

namespace pipescope::replay {

/// Effect of one change by itself.
struct WhatIfPart {
  std::string change;
  std::optional<double> ticks;  ///< difference of the step time; none: it is only possible with the others
};

/// Change of the memory of a stage's device.
struct StageFit {
  int stage = 0;
  std::optional<std::int64_t> stashBefore, stashAfter;  ///< entries; none: not known
  Bytes added;               ///< bytes of the stash that are added on the device, sum over units
  std::optional<bool> fits;  ///< none: the recording does not tell
};

/// A call, with its step time and rate.
struct ReplayedCall {
  double stepTicks = 0;                    ///< mean length of an iteration
  double microBatchTicks = 0;              ///< step ÷ (micro-batches × replicas)
  std::optional<double> samplesPerSecond;  ///< none: samples or seconds are not known
  int microBatches = 0;
};

struct WhatIf {
  ReplayedCall before, after;
  std::vector<WhatIfPart> parts;  ///< sorted in the order of the changes
  double interaction = 0;         ///< after − before − the parts
  analysis::StagesReport stagesBefore, stagesAfter;
  std::vector<StageFit> memory;
  std::vector<std::string> remarks;
  Recording recording;  ///< recording with the changes
  Timeline timeline;
  /// Rate after ÷ before − 1, per micro-batch.
  double gain() const {
    return after.microBatchTicks > 0 ? before.microBatchTicks / after.microBatchTicks - 1 : 0;
  }
};

/// Answers what the call would take with these changes. Errors: those of applyChanges.
base::Result<WhatIf> whatIf(const ChangeContext& context, const Recording& recording,
                            const std::vector<Change>& changes);

/// Returns what whatIf() answers for an emulated call without changes, from the report of its stages. The
/// recording, its timeline and the stashes are missing, because they take longer to read. None: only a replay
/// can tell.
std::optional<WhatIf> recordedAnswer(const ChangeContext& context, model::ExecutableId executable,
                                     const analysis::StagesReport& stages);

/// Replays the call, without rows.
base::Result<ReplayedCall> replayedCall(const ChangeContext& context, const Recording& recording);

/// Says if the stashes fit into the memory of the devices, as far as the recording tells.
base::Result<std::vector<StageFit>> fitOf(const ChangeContext& context, const Recording& before,
                                          const Changed& after);

}  // namespace pipescope::replay
