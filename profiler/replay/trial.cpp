#include "profiler/replay/trial.h"

#include <algorithm>

namespace pipescope::replay {

Recording shortened(const Recording& recording) {
  // Work of a call besides its iterations weighs more in a short call, so that all iterations are kept if
  // they are few.
  constexpr int kFewestIterations = 2, kMostTasks = 20'000;
  const int each = std::max(1, recording.microBatches * recording.stageCount());
  Recording few = recording;
  few.iterations = std::min(few.iterations, std::max(kFewestIterations, kMostTasks / each));
  few.run.samples = few.run.samples * few.iterations / recording.iterations;
  return few;
}

base::Result<Recording> recordingForTrials(const ChangeContext& context, model::ExecutableId id) {
  constexpr double kMostTasks = 5e5;
  const model::Executable* executable = context.catalog.executable(id);
  if (executable != nullptr &&
      static_cast<double>(executable->microBatches) * static_cast<double>(executable->stages) *
              static_cast<double>(std::max<std::int64_t>(executable->deviceIterations, 1)) >
          kMostTasks) {
    return base::badInput("The call is too long to try changes of it; pipescope what-if tries a single one.");
  }
  PIPESCOPE_ASSIGN(const Recording recording,
                   readRecording(context.source, context.catalog, id, context.schedules));
  return shortened(recording);
}

base::Result<Trial> tryChanges(const ChangeContext& context, const Recording& recording,
                               const ReplayedCall& before, const std::vector<Change>& changes) {
  PIPESCOPE_ASSIGN(const Changed changed, applyChanges(context, recording, changes));
  PIPESCOPE_ASSIGN(const ReplayedCall after, replayedCall(context, changed.recording));
  if (after.microBatchTicks <= 0) return base::badInput("The call would take no time.");
  Trial trial;
  trial.gain = before.microBatchTicks / after.microBatchTicks - 1;
  trial.stepTicksAfter = after.stepTicks;
  trial.samplesPerSecond = after.samplesPerSecond;
  trial.remarks = changed.remarks;
  const base::Result<std::vector<StageFit>> stages = fitOf(context, recording, changed);
  if (!stages.ok()) return trial;
  trial.fits = true;
  for (const StageFit& stage : *stages) {
    if (!stage.fits) trial.fits = std::nullopt;
    if (stage.fits == false) {
      trial.fits = false;
      break;
    }
  }
  return trial;
}

}  // namespace pipescope::replay
