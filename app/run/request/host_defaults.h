#pragma once
#include "engine/config/configuration.h"
#include "profiler/base/result.h"

namespace pipescope::app {

/// Sets the keys of [host] that the configuration leaves open to the figures of the host that host.name
/// names. Fails if there is no such host, or if its file has a figure that is no key of [host].
base::Result<config::Configuration> withHostDefaults(const config::Configuration& configuration);

/// The same with the host of inference (`inference.host`) in place of host.name, for a configuration that has
/// the figures of host.name. Gives the errors of the host's file.
base::Result<config::Configuration> withInferenceHost(const config::Configuration& configuration);

}  // namespace pipescope::app
