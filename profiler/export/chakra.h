#pragma once
#include "profiler/export/chrome.h"

namespace pipescope::exporting {

/// Writes one call as an execution trace of MLCommons Chakra, with the nodes of all devices in one file: a
/// COMP node for each pass of a stage and micro-batch, SEND and RECV nodes for each transfer between stages,
/// and COLL nodes for collectives. A node may start when all that it depends on has ended: data dependencies
/// are inputs, control dependencies the order on its device or link. Durations are whole microseconds, as the
/// format wants; the attribute duration_ps has them exactly. Attributes state rank, stage, replica,
/// micro-batch and iteration; of a pass also its FLOP (num_ops) and the bytes of its operands and results
/// (tensor_size), as simulators read them; and the metadata the names of the devices. The format has no
/// counters, no steps within a pass, and no waits; exchange that carries no pass's result is left out.
/// Fails if the profile holds no passes.
base::Status exportChakra(const ChromeRequest& request, const Writer& write, base::Progress& progress);

}  // namespace pipescope::exporting
