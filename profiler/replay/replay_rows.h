#pragma once
// Writes a replayed call as the rows of a profile.
#include "profiler/record/recorder.h"
#include "profiler/replay/change.h"

namespace pipescope::replay {

/// Rows that the call consumes; 0: not known.
std::int64_t samplesOf(const Recording& recording, const analysis::Catalog& catalog);

/// Rows of the recorded profile that are taken over besides those that the replayed call needs.
enum class Extent {
  call,   ///< none
  whole,  ///< all that still hold: names, operations, steps, memory
};

/// Writes `timeline` with the stages and segments of `recording`. Segments whose length has changed are
/// written as new ones, with their steps stretched. `changes` are recorded as properties, and so is
/// `stepInterval`, unless it is empty: figures::keptInterval() of the recorded profile.
base::Status writeReplay(const ChangeContext& context, const Recording& recording, const Timeline& timeline,
                         const std::vector<Change>& changes, Extent extent, record::Recorder& recorder,
                         const std::string& stepInterval = {});

}  // namespace pipescope::replay
