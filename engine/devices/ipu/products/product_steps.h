#pragma once
// The program steps of one planned product, which PopVision shows: arranging operands and sending them to
// their tiles, Convolve, stages of Reduce, and arranging the result.
#include "engine/devices/ipu/lowered_work.h"
#include "engine/devices/ipu/products/planner.h"

namespace pipescope::devices::ipu {

/// The program steps of a product with this plan, with their vertices and temporaries. `otherOrder`: the
/// product is written in the other order than it is planned (inPlannedOrder). `operands` are those of the
/// product as it is written.
LoweredWork stepsOf(const Chip& chip, const ContractionPlan& plan, bool otherOrder = false,
                    OperandPlaces operands = {});

}  // namespace pipescope::devices::ipu
