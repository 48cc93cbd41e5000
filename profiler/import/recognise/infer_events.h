#pragma once
#include <cstdint>
#include <vector>

#include "profiler/import/recognise/infer_steps.h"
#include "profiler/import/recognise/recorded_pass.h"

namespace pipescope::importing {

/// Gives each pass without a step the step of its device that encloses it. If the trace of a device marks no
/// steps, the n-th pass of a stage and micro-batch is of step n.
void assignSteps(std::vector<RecordedPass>& passes, const std::vector<RecordedStep>& steps);

/// One process may drive several accelerators. If one device marks steps and none of these accelerators does,
/// its steps are those of each of them, too.
void shareSteps(const std::vector<model::DeviceId>& accelerators, std::vector<RecordedStep>& steps);

/// Counts of what inferEvents() had to infer.
struct Inferred {
  std::int64_t proposed = 0;  ///< passes that no rule recognised (inferPasses)
  std::int64_t stages = 0;    ///< passes whose stage the trace does not state, proposed ones included
  std::int64_t unplaced = 0;  ///< passes whose stage nobody knows, because traces of ranks are missing
  std::int64_t messages = 0;  ///< sides of messages whose pass the trace does not state
  std::int64_t chunks = 0;    ///< passes whose chunk of the model the trace does not state
  std::int64_t divided = 0;   ///< passes that share the time of one event with others
  std::int64_t steps = 0;     ///< training steps that no trace marks, told apart by pauses
  bool stepsUnknown = false;  ///< nobody knows which training step the passes belong to
};

/// Fills in what the traces do not state, in this order: steps, micro-batches that are counted, stages,
/// chunks, and the passes of messages.
///
/// *Steps.* If a trace marks none, the n-th pass of a stage and micro-batch is of step n; where micro-batches
/// are counted, a weight update ends a step, and without updates see inferSteps(), which compares the times
/// of devices. Without `clockGroups` these cannot be compared yet, and all such passes are of one step.
///
/// *Stages.* See inferStages().
///
/// Where several ranks state the same stage and no replica, messages that name ranks join those of a replica;
/// otherwise the order of the ranks tells. Where ranks are missing and nothing tells, each rank counts for
/// itself.
///
/// *Chunks.* See inferChunks(). Where ranks hold several chunks of the model (interleaved schedules), chunk c
/// of rank r becomes stage c × ranks + r. Messages that state no chunk lose their micro-batch, because ranks
/// number the messages of all chunks together.
///
/// *Messages.* See inferMessages().
Inferred inferEvents(RecordedEvents& events, const ClockGroups* clockGroups = nullptr);

}  // namespace pipescope::importing
