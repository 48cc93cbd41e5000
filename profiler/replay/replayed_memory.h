#pragma once
// The memory of a replayed call: the recorded one, with the stashes that the new order and stages need.
#include "profiler/record/recorder.h"
#include "profiler/replay/change.h"

namespace pipescope::replay {

/// Bytes that the stash of a stage takes more than recorded, sum over units. `before` is the recorded stage
/// with `entriesBefore` entries, and `after` the stage of the replayed call with `entriesAfter`.
Bytes stashAdded(const model::Stage& before, std::int64_t entriesBefore, const model::Stage& after,
                 std::int64_t entriesAfter);

/// Writes the variables, where they lie, and the memory of each unit. If a stash grows, the added bytes
/// become a variable of their own, which is spread evenly over the units and lies behind everything that has
/// an address. If it shrinks, its variables become smaller. Call it after the debug contexts have been
/// written.
base::Status writeReplayedMemory(const ChangeContext& context, const Recording& recording,
                                 record::Recorder& recorder);

}  // namespace pipescope::replay
