#pragma once
// Takes from the placements of a call what each stage does.
#include "profiler/replay/recording.h"

namespace pipescope::replay {

/// The rows of one call.
struct CallRows {
  std::vector<model::Placement> placements;
  std::vector<model::Transfer> transfers;
  std::vector<model::Wait> waits;
};

/// Adds replicas with their work, the numbers of iterations and micro-batches, the rule for outputs and, for
/// imported traces, the order of tasks. Returns when the work started.
base::Result<clock::RecordedStarts> addWork(const analysis::Catalog& catalog, const CallRows& rows,
                                            Recording& recording);

}  // namespace pipescope::replay
