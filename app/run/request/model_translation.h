#pragma once
// From a configuration to the values that the model compiler takes. What keys mean is in the table of keys.
#include <vector>

#include "engine/compile/model/model_request.h"
#include "engine/config/configuration.h"
#include "profiler/base/result.h"

namespace pipescope::app {

/// The request of a configuration with a model. Refused: what the model, the optimizer or the training
/// options refuse.
base::Result<compile::ModelRequest> modelRequest(const config::Configuration& configuration);

/// What the configuration asks of a system, with the settings that only some kinds of device take.
devices::SystemOptions systemOptions(const config::Configuration& configuration);

/// How many replicas train or infer. Training has training.replication_factor; if that is not given, replicas
/// fill system.devices. Inference has a factor of its own, and fills devices only where nothing is trained.
compile::ReplicaRequest replicaRequest(const config::Configuration& configuration, bool training);

/// The [[device_scale]] entries. Refused: a device twice.
base::Result<std::vector<emulate::DeviceScale>> deviceScales(const config::Configuration& configuration);

}  // namespace pipescope::app
