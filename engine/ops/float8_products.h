#pragma once
// Products of float8 and float4 operands. Float8MatMul, Float8Gemm, Float8Conv, Float8ExpertProduct and their
// gradients do what the operators without Float8 in their names do, but their two factors are float8 and
// their result is 16-bit or float32. Float4MatMul, Float4Gemm, Float4ExpertProduct and their gradients do so
// for float4.
#include <string>
#include <vector>

#include "engine/ops/core/operator.h"

namespace pipescope::ops {

/// Operators that have a Float8 form. Their first two inputs are the factors; a third is a bias, or
/// the numbers of the experts' rows.
const std::vector<std::string>& float8ProductOperators();
/// The operators among these that also multiply blocks with scales, and so have a Float4 form.
const std::vector<std::string>& blockProductOperators();

/// Adds "Float8X" and "Float4X" for each of these operators X, which the registry must hold. Inputs: the
/// factors a and b; the exponents of their scales, which Float8Cast gives; the third input of X, a bias in
/// the type of the result. Attributes: those of X; `result`, the type of the result; `accumulate`, the type
/// of the sums, for devices' costs; `scales`, the exponents of both scales where they are no inputs; `axes`,
/// the axes along which the factors have blocks (quantized/scaled_blocks.h), whose scales, which BlockCast
/// gives, are then inputs. The factors count as a·2^−s. Numbers are summed in float32.
void addFloat8Products(OperatorRegistry& registry);

}  // namespace pipescope::ops
