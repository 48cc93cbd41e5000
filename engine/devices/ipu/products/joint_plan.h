#pragma once
// One plan for the three products of a trained layer, so that no weight leaves its tile between them. (C:
// PopLibs planner, the joint plan of fully connected layers: ConvModel.cpp, addBwdEstimates and
// addWuEstimates; ConvVertexType.cpp, the vertices of a joint plan.)
//
// The weights are the input of the convolution in the forward pass. Its rows are not cut, so each weight is
// used by one tile only. For the gradient of the layer's input, field and input channels change places: each
// tile turns its weights over in square blocks. For the weights' gradient, input and output channels change
// places, and the result lies as the weights do, so that the update needs no exchange.
#include <array>
#include <cstdint>
#include <optional>

#include "engine/devices/ipu/products/planner.h"

namespace pipescope::devices::ipu {

/// The products of all three passes of the trained layer: forward, gradient of the input, of the weights.
std::array<ConvShape, 3> passesOf(const ConvShape& shape);

struct JointPlan {
  std::array<ContractionPlan, 3> passes;
};

/// The joint plan with the fewest cycles whose temporaries take at most `memory` bytes of a tile. None: there
/// is no such plan, or three plans alone, which take `alone` cycles, are faster. As in PopLibs, this
/// comparison leaves out turning the weights over; the returned costs contain it. Serial parts are not tried.
std::optional<JointPlan> planJointly(const Chip& chip, const std::array<ConvShape, 3>& passes,
                                     std::int64_t memory, std::int64_t alone);

}  // namespace pipescope::devices::ipu
