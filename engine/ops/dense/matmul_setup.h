#pragma once
// The shapes of products of stacks of matrices, by numpy's rules.
#include "engine/ops/core/operator.h"

namespace pipescope::ops {

/// y[s] (m×n) = a[s] (m×k) · b[s] (k×n) for every s of the stack.
struct MatMulSetup {
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t matrices = 1;              ///< products of the stack
  std::vector<std::int64_t> left, right;  ///< matrix of a and of b that each product takes
  Shape result;
};

/// A vector a becomes a matrix of one row, a vector b one of one column. Fails with a sentence if the shapes
/// do not fit.
Result<MatMulSetup> matMulSetup(const OperatorCall& call, Shape a, Shape b);

}  // namespace pipescope::ops
