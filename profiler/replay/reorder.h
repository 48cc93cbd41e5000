#pragma once
// Makes the order of tasks anew after a change of schedule or micro-batches.
#include <string>

#include "profiler/replay/change.h"

namespace pipescope::replay {

/// The recorded work is put into the order of `changed.recording.executable.schedule`. Errors: the schedule
/// refuses the stages or micro-batches, or needs what was not recorded.
base::Status makeOrderAnew(const ChangeContext& context, const Recording& before, Changed& changed);

/// The schedule that gives the order of an imported trace; empty: none does.
std::string recognisedSchedule(const Recording& recording, const Schedules& schedules);

/// The time that the busiest device sums gradients in an iteration, and how long the iteration is.
/// `remoteToo`: with the loads and stores of remote tensors in updates.
std::pair<double, double> sumsAndStep(const Recording& recording, bool remoteToo = false);
/// The largest share of the step that the sums may take if their time is not known: other links may change
/// them by four fifths.
inline constexpr double kMostUnknownSums = 0.025;

}  // namespace pipescope::replay
