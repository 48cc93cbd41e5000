#pragma once
#include "engine/compiler/model_request.h"
#include "engine/devices/core/device_family.h"
#include "profiler/base/result.h"

namespace pipescope::compile {

/// Where an executable of `replicas` replicas keeps its tensors: training as asked for, inference only its
/// weights off the chip. Refused: streaming memory that the system does not have, shares without replicas,
/// and shares within micro-batches on devices of different speed.
base::Result<TensorLocations> placeTensors(const ModelRequest& request, const devices::System& system,
                                           bool training, int replicas);

}  // namespace pipescope::compile
