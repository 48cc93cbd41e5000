#pragma once
// Einstein sums: reads the equation and prepares a walk over all indices.
#include "engine/ops/core/operator.h"

namespace pipescope::ops {

/// One extent for each label. The labels of the result come first, then those that are summed over.
struct EinsumSetup {
  Shape extents;
  std::size_t kept = 0;  ///< labels of the result
  Shape result;
  std::vector<std::vector<std::int64_t>> strides;  ///< strides by operand and label; 0: broadcast or absent
  std::vector<std::int64_t> resultStrides;         ///< stride of each label
};

/// Reads "ij,jk->ik", also with spaces, ellipses, repeated labels and implicit results (labels that occur
/// once, in alphabetical order). Axes of extent 1 broadcast along their label.
Result<EinsumSetup> einsumSetupOf(const OperatorCall& call, const std::string& equation,
                                  const std::vector<const Shape*>& operands);

}  // namespace pipescope::ops
