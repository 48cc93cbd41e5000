#pragma once
// Times in which neighbouring stages exchange activations and gradients, for every cut of a model.
#include <cstdint>
#include <vector>

#include "engine/devices/core/device_family.h"
#include "engine/plan/split_costs.h"

namespace pipescope::plan {

/// See SplitProblem::exchange: [s][u] is the time between stages s − 1 and s if stage s begins with unit u.
using SplitExchange = std::vector<std::vector<std::int64_t>>;

/// The times over the links of a system, in its ticks.
SplitExchange exchangeOver(const devices::System& system, const SplitCosts& costs,
                           const std::vector<int>& placeOfStage);

/// The times at one rate, whatever the links are. Stages at one place exchange nothing.
SplitExchange exchangeAt(double bytesPerSecond, std::int64_t ticksPerSecond, const SplitCosts& costs,
                         const std::vector<int>& placeOfStage);

}  // namespace pipescope::plan
