#pragma once
// Records which operators read what other operators make: the edges of the model's drawing.
#include <map>
#include <utility>
#include <vector>

#include "engine/compile/ir.h"
#include "engine/emulate/device_program.h"
#include "profiler/record/recorder.h"

namespace pipescope::emulate {

/// The recorded operators of each pass of each stage, in the order of the IR.
using OperatorsOfPass = std::map<std::pair<int, model::Pass>, std::vector<model::OperatorId>>;

/// Records an edge for each tensor that an operator makes and another one reads later in the same micro-batch
/// or iteration, within a stage or over a boundary. Weights and constants come from no operator, so they have
/// no edges.
void recordEdges(record::Recorder& recorder, NameTree& names, model::ExecutableId executable,
                 const compile::ExecutableIr& ir, const OperatorsOfPass& operators);

}  // namespace pipescope::emulate
