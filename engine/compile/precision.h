#pragma once
#include <string>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/ops/core/operator.h"
#include "profiler/base/result.h"

namespace pipescope::compile {

/// The forward graph with its float32 tensors in float16 or bfloat16: samples, weights, activations. Products
/// and sums within an operator stay in float32 (its kernel and its Work say so). In float32 remain running
/// statistics, the loss and what it is computed from: the losses' scores are cast up, and so is everything
/// that meets a float32 value after them. So does every operator of a type in `keepFloat` ("Gelu"): its
/// inputs are cast up, its results down. Refused: graphs within nodes (If, Loop, Scan).
base::Result<graph::Graph> withPrecision(const graph::Graph& forward, graph::ElementType type,
                                         const ops::OperatorRegistry& registry,
                                         const std::vector<std::string>& keepFloat = {});

}  // namespace pipescope::compile
