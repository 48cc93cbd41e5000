#pragma once
#include <optional>

#include "engine/graph/graph.h"
#include "engine/ops/core/operator.h"
#include "profiler/base/result.h"

namespace pipescope::compile {

/// Returns the graph with its backward nodes, in the reverse order of the forward nodes. A backward node has
/// pass `backward` and the block of its forward node, and is called "<forward node>/grad_weight" and so on.
/// If a tensor has several consumers, a Sum "<tensor>/grad_sum" adds their gradients, starting with the last
/// consumer. parameterGradients gets an entry for every parameter that the loss depends on. No gradient is
/// computed for inputs, or where no parameter lies upstream. Errors: the graph has no loss, or an operator on
/// the way has no gradient. `root` is differentiated instead of the loss if it is given (a scaled loss).
base::Result<graph::Graph> addGradients(graph::Graph forward, const ops::OperatorRegistry& registry,
                                        std::optional<graph::TensorId> root = {});

}  // namespace pipescope::compile
