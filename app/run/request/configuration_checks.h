#pragma once
// Checks keys against each other. Refuses keys that exclude each other, and keys that nothing would use.
#include "engine/config/configuration.h"
#include "profiler/base/result.h"

namespace pipescope::app {

/// Checks a configuration of a model: its counts, its strategy, and that no setting belongs to an option that
/// is not chosen.
base::Status checkConfiguration(const config::Configuration& configuration);

/// Refuses a schedule for a strategy that is no pipeline, unless the strategy is of a stronger
/// origin.
base::Status checkScheduleKeys(const config::Configuration& configuration);

}  // namespace pipescope::app
