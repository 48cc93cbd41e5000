#pragma once
// Refusals that only a configuration can give: keys that exclude each other, and keys that nothing would use.
#include "engine/config/configuration.h"
#include "profiler/base/result.h"

namespace pipescope::app {

/// Checks a configuration of a model: its counts, its strategy, and settings of something that was not
/// chosen.
base::Status checkConfiguration(const config::Configuration& configuration);

}  // namespace pipescope::app
