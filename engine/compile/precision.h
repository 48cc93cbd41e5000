#pragma once
#include <string>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/ops/core/operator.h"
#include "profiler/base/result.h"

namespace pipescope::compile {

/// Returns the forward graph with float32 samples, weights and activations in float16 or bfloat16. Products
/// and sums within an operator stay in float32, as its kernel and its Work say. Running statistics and losses
/// stay in float32: the scores that a loss reads are cast up, and so is everything that meets a float32 value
/// after it. Operators of a type in `keepFloat` ("Gelu") also stay in float32: their inputs are cast up and
/// their results are cast down. Refused: nodes that contain graphs (If, Loop, Scan).
base::Result<graph::Graph> withPrecision(const graph::Graph& forward, graph::ElementType type,
                                         const ops::OperatorRegistry& registry,
                                         const std::vector<std::string>& keepFloat = {});

}  // namespace pipescope::compile
