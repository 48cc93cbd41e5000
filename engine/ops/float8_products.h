#pragma once
// Products of float8 operands. Float8MatMul, Float8Gemm, Float8Conv and their gradients do what the operators
// without Float8 in their names do, but their two factors are float8 and their result is 16-bit or float32.
#include <string>
#include <vector>

#include "engine/ops/core/operator.h"

namespace pipescope::ops {

/// Operators that have a Float8 form. Their first two inputs are the factors; a third is a bias.
const std::vector<std::string>& float8ProductOperators();

/// Adds "Float8X" for each of these operators X, which the registry must hold. Inputs: the factors a and b;
/// the exponents of their scales, which Float8Cast gives; a bias, in the type of the result. Attributes:
/// those of X; `result`, the type of the result; `accumulate`, the type of the sums, for devices' costs;
/// `scales`, the exponents of both scales where they are no inputs. The factors count as a·2^−s. Numbers are
/// summed in float32.
void addFloat8Products(OperatorRegistry& registry);

}  // namespace pipescope::ops
