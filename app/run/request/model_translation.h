#pragma once
// Translates a configuration to the options of the model compiler. The table of keys explains each key.
#include <map>
#include <string>
#include <vector>

#include "engine/compiler/model_request.h"
#include "engine/config/configuration.h"
#include "profiler/base/result.h"

namespace pipescope::app {

/// The compile request of a configuration with a model. Gives the errors of the model, the optimizer and the
/// training options.
base::Result<compile::ModelRequest> modelRequest(const config::Configuration& configuration);

/// The system that the configuration chooses, with the settings that only some kinds of device have.
devices::SystemOptions systemOptions(const config::Configuration& configuration);

/// Returns the number of replicas that train or infer. Training has training.replication_factor; if that is
/// not given, replicas fill system.devices. Inference has a factor of its own, and fills devices only if
/// nothing is trained.
compile::ReplicaRequest replicaRequest(const config::Configuration& configuration, bool training);

/// One factor for each micro-batch of training (training.micro_batch_costs); empty: all are 1.
base::Result<std::vector<double>> costsOfMicroBatches(const config::Configuration& configuration);

/// The rules of [[model.returned]], by the names of outputs.
std::map<std::string, emulate::OutputRule> ownOutputRules(const config::Configuration& configuration);

/// The [[device_scale]] entries. Refuses two entries for one device.
base::Result<std::vector<emulate::DeviceScale>> deviceScales(const config::Configuration& configuration);

}  // namespace pipescope::app
