#pragma once
#include <optional>

#include "engine/graph/graph.h"
#include "engine/ops/core/operator.h"
#include "profiler/base/result.h"

namespace pipescope::compile {

/// The graph with its backward nodes appended, in reverse order of the forward ones: pass backward, the block
/// of their forward node, named "<forward node>/grad_weight" and so on. Where a tensor has several consumers,
/// a Sum
/// "<tensor>/grad_sum" adds their gradients, last consumer first. Fills parameterGradients for every
/// parameter that the loss depends on. Nothing is computed for inputs, or where nothing trainable lies
/// upstream. Errors: no loss, an operator without gradient on the way.
/// `root` is what is differentiated where it is not the loss itself (a scaled loss).
base::Result<graph::Graph> addGradients(const graph::Graph& forward, const ops::OperatorRegistry& registry,
                                        std::optional<graph::TensorId> root = {});

}  // namespace pipescope::compile
