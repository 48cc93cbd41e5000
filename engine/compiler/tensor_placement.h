#pragma once
#include "engine/compiler/model_request.h"
#include "engine/devices/core/device_family.h"
#include "profiler/base/result.h"

namespace pipescope::compile {

/// Chooses the memories of an executable of `replicas` replicas: training uses those that the request asks
/// for, inference only puts its weights off the chip. Refused: streaming memory that the system does not
/// have, shares without replicas, and shares within micro-batches on devices of different speed.
base::Result<TensorLocations> placeTensors(const ModelRequest& request, const devices::System& system,
                                           bool training, int replicas);

}  // namespace pipescope::compile
