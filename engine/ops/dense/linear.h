#pragma once
// A matrix product with what stands around it in models: y = x·W + b, or y = x·Wᵀ + b. Not an operator of
// graphs: numerics puts it in the place of MatMul, Add and a weight's Transpose
// (engine/numerics/combine_nodes.h).
#include "engine/ops/core/operator.h"

namespace pipescope::ops {

/// Inputs x, W (two axes) and, or left out, b (as many numbers as y has columns), all float32; attribute
/// "transposed": 1 where W's rows are y's columns. The same bits as the separate operators give.
const OperatorDefinition& linearDefinition();

}  // namespace pipescope::ops
