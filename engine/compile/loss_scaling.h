#pragma once
#include "engine/graph/graph.h"
#include "engine/ops/core/operator.h"
#include "profiler/base/result.h"

namespace pipescope::compile {

/// Name of the constant that scaleLoss adds; numerics gives it each update's value.
inline constexpr const char* kLossScaleTensor = "loss_scale";

struct ScaledLoss {
  graph::Graph graph;    ///< its loss is still the plain one
  graph::TensorId root;  ///< loss × scale: what gradients are taken of
};

/// Multiplies the loss by a scalar constant.
base::Result<ScaledLoss> scaleLoss(const graph::Graph& forward, double scale,
                                   const ops::OperatorRegistry& registry);

}  // namespace pipescope::compile
