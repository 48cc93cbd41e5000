#pragma once
#include "engine/graph/graph.h"
#include "engine/ops/core/operator.h"
#include "profiler/base/result.h"

namespace pipescope::compile {

/// Name of the constant that scaleLoss adds. Numerics sets its value for each update.
inline constexpr const char* kLossScaleTensor = "loss_scale";

struct ScaledLoss {
  graph::Graph graph;    ///< graph with the unscaled loss
  graph::TensorId root;  ///< loss × scale, which is differentiated
};

/// Adds the product of the loss and a scalar constant to the graph.
base::Result<ScaledLoss> scaleLoss(const graph::Graph& forward, double scale,
                                   const ops::OperatorRegistry& registry);

}  // namespace pipescope::compile
