#pragma once
#include <cstdint>
#include <map>
#include <vector>

#include "profiler/import/recognise/recorded_pass.h"

namespace pipescope::importing {

/// The passes of each device in the order of their starts.
using PassesOfDevice = std::map<model::DeviceId, std::vector<RecordedPass*>>;

/// Numbers of passes that state no stage: of those that got one, and of those that did not because the traces
/// of ranks are missing.
struct StagesInferred {
  std::int64_t placed = 0, unplaced = 0;
};

/// Gives a stage and a replica to the passes and messages of ranks whose passes state no stage.
///
/// A rank that receives nothing before the first forward pass of a step holds the first stage. If messages
/// state the rank at their other side, each rank follows the one that feeds its first forward pass. Otherwise
/// ranks lie along the pipeline in their order: there are as many replicas as first stages, and their places
/// among the ranks tell whether the stages or the replicas of a pipeline are neighbours. Where messages name
/// ranks whose traces are missing, these count as ranks of the pipeline. Nothing is inferred if the ranks
/// form no pipelines of the same length, or if the first rank of one is missing.
StagesInferred inferStages(RecordedEvents& events, const PassesOfDevice& byDevice);

}  // namespace pipescope::importing
