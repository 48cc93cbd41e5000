#pragma once
// Takes from the transfers of a call how long the copies between stages take.
#include "profiler/replay/work_reader.h"

namespace pipescope::replay {

/// Adds the flows between stages, with the times of their recorded copies, to the recording.
void addFlows(const analysis::Catalog& catalog, const CallRows& rows, Recording& recording);

}  // namespace pipescope::replay
