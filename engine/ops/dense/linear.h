#pragma once
// A matrix product with its surroundings in models: y = x·W + b or y = x·Wᵀ + b. No graph holds this
// operator; numerics replaces MatMul, Add and the Transpose of a weight with it
// (engine/numerics/combine_nodes.h).
#include "engine/ops/core/operator.h"

namespace pipescope::ops {

/// Inputs are x, W (two axes) and optionally b (one number for each column of y), all float32. The attribute
/// "transposed" is 1 if the rows of W are the columns of y. The bits are those of the separate operators.
const OperatorDefinition& linearDefinition();

}  // namespace pipescope::ops
