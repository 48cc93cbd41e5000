#pragma once
#include "engine/config/configuration.h"
#include "profiler/base/result.h"

namespace pipescope::app {

/// Sets the keys of [host] that the configuration leaves open to the figures of the host that host.name
/// names. Fails if there is no such host, or if its file has a figure that is no key of [host].
base::Result<config::Configuration> withHostDefaults(const config::Configuration& configuration);

}  // namespace pipescope::app
