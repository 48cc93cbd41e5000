#pragma once
// Makes the segments of a pass from program steps.
#include <optional>
#include <string>

#include "engine/compile/ir.h"
#include "engine/devices/core/device_family.h"
#include "engine/devices/ipu/lowered_work.h"

namespace pipescope::devices::ipu {

/// The pass of an operator's segment where it differs from `pass`: copies from and to streaming memory,
/// collectives that assemble shares, and what is recomputed are segments of their own.
std::optional<model::Pass> ownPass(model::Pass pass, const compile::IrOperator& op);

/// The lane on which an IPU does a pass: host copies and streaming memory have the host's, collectives
/// the exchange's.
model::LaneRole laneOfPass(model::Pass pass);

/// Ends the segment if the next operator is of another kind.
void cutSegment(LoweredPass& pass, LoweredSegment& segment, std::optional<model::Pass> own);

/// Adds the step of operator `op` and the sync before it. `tiles` are all tiles of the chip.
void appendSteps(LoweredSegment& segment, const ProgramStep& step, const std::string& path, int op,
                 std::int64_t repeat, std::int64_t tiles);

}  // namespace pipescope::devices::ipu
