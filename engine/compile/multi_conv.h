#pragma once
// Multi-convolutions: convolutions that do not depend on each other and run side by side on shares of the
// tiles (PopART's MultiConv, PopTorch's poptorch.MultiConv). The attribute `multi_conv` of Conv holds the
// name of the group. Gradients copy it, so that the gradients of a group are groups too. The pass
// join_convolutions makes one operator of each group; numerics ignores the attribute.
#include <string>
#include <vector>

#include "engine/compile/stage_division.h"
#include "engine/ops/core/operator.h"

namespace pipescope::compile {

inline constexpr const char* kMultiConv = "multi_conv";

struct MultiConvGroup {
  std::string name;
  std::vector<std::string> operators;  ///< patterns (block_pattern.h); of what they name, convolutions join
};

/// Returns the forward graph with the attribute set. Its value is the group's name below the path that the
/// names of the convolutions begin with. A slash at the beginning of names and patterns is ignored. Refused:
/// a pattern that names no convolution, a convolution in two groups, and a name that an operator has already.
base::Result<graph::Graph> withMultiConvs(const graph::Graph& forward,
                                          const std::vector<MultiConvGroup>& groups,
                                          const ops::OperatorRegistry& registry);

/// True if a node belongs to a group.
bool hasMultiConvs(const graph::Graph& graph);

/// Refuses a group whose convolutions lie in several stages or depend on each other, directly or because
/// another group ties them together.
base::Status checkMultiConvs(const graph::Graph& forward, const std::vector<StageSpec>& stages);

}  // namespace pipescope::compile
