#pragma once
#include "app/run/execute/run_context.h"

namespace pipescope::app {

/// Emulates the calls of a system whose costs are given. Nothing is computed.
base::Status runFixed(RunContext& context);

}  // namespace pipescope::app
