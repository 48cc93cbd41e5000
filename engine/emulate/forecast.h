#pragma once
// What the bubble would be with more micro-batches.
#include <optional>

#include "engine/emulate/executable.h"

namespace pipescope::emulate {

/// Bubble fractions of one iteration with twice and four times the micro-batches and in the limit, all else
/// equal: 1 − busy ÷ (devices that hold a stage × time from the first start to the last end of computing),
/// exchange within it included.
struct BubbleForecast {
  double twice = 0, fourTimes = 0, limit = 0;
};

/// Emulates the longer iterations; of very long ones it takes that each further micro-batch costs as much as
/// the last ones did, which holds once all stages work. None where nothing is computed.
std::optional<BubbleForecast> forecastBubble(const devices::System& system, const SystemIds& ids,
                                             const Executable& executable);

}  // namespace pipescope::emulate
