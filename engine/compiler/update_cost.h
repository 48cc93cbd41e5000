#pragma once
#include "engine/compiler/model_request.h"
#include "engine/devices/core/device_family.h"

namespace pipescope::compile {

/// State and Work of the update for one parameter. `summedGradients` is the number of gradients that are
/// summed before an update, over micro-batches and replicas.
OptimizerCost updateCost(const UpdateRequest& update, std::int64_t summedGradients);

/// True if gradients are added into buffers that stay (IrOptions::gradientBuffers).
bool keepsGradientBuffers(const UpdateRequest& update, const devices::System& system);

/// True if the loss is multiplied by a scale.
bool scalesLoss(const UpdateRequest& update);

}  // namespace pipescope::compile
