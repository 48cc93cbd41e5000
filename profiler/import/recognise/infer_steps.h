#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "profiler/import/recognise/recorded_pass.h"

namespace pipescope::importing {

/// Groups of devices with a common clock: times of devices with different numbers cannot be compared. A
/// device that is not named has number 0.
using ClockGroups = std::map<model::DeviceId, std::size_t>;

/// Training steps that passes tell of, although their trace does not mark them.
struct StepsInferred {
  std::int64_t steps = 0;  ///< 0: they cannot be told
  /// Begin of each step but the first, by group of clocks.
  std::map<std::size_t, std::vector<base::Ticks>> begins;
  std::int64_t stepAt(std::size_t group, base::Ticks time) const;
};

/// Finds training steps in passes that state neither step nor micro-batch. A step ends where every device has
/// computed as many backward as forward passes since the step before, and no pass runs. If this holds
/// after each micro-batch, as in schedules that compute one micro-batch after the other, steps are told apart
/// only by pauses that are long compared with the other pauses and with a forward pass.
///
/// The steps cannot be told if the trace begins or ends within one, if a device never balances, or if the
/// pauses do not tell them. Passes without backward passes are one step: inference has none.
StepsInferred inferSteps(const std::vector<const RecordedPass*>& passes, const ClockGroups& clockGroups);

}  // namespace pipescope::importing
