#pragma once
// Predicts the bubble with more micro-batches.
#include <optional>

#include "engine/emulate/emulated_executable.h"

namespace pipescope::emulate {

/// Bubble fractions of one iteration with twice and four times the micro-batches and in the limit, if nothing
/// else changes. The fraction is 1 − busy ÷ (devices that hold a stage × T), where T runs from the first
/// start to the last end of compute and includes the exchange within it.
struct BubbleForecast {
  double twice = 0, fourTimes = 0, limit = 0;
};

/// Emulates the longer iterations. If they are very long, it assumes that each further micro-batch takes as
/// long as the last ones did, which is true once all stages work. Returns nothing if nothing is computed.
std::optional<BubbleForecast> forecastBubble(const devices::System& system, const SystemIds& ids,
                                             const EmulatedExecutable& executable);

}  // namespace pipescope::emulate
