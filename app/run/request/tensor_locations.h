#pragma once
// Where tensors lie: on the chip, in streaming memory, in shares on several replicas.
#include "engine/compile/plan_builder.h"
#include "engine/config/configuration.h"
#include "engine/devices/core/device_family.h"
#include "profiler/base/result.h"

namespace pipescope::app {

/// What execution.offload_… and execution.shard_… ask for; the phased strategies keep all kinds off the chip
/// unless a key says otherwise. Inference has weights only. Refused: streaming memory that the system does
/// not have, shares without replicas, and shares within micro-batches on devices of different speed.
base::Result<compile::TensorLocations> tensorLocations(const config::Configuration& configuration,
                                                       const devices::System& system, bool training,
                                                       int replicas);

}  // namespace pipescope::app
