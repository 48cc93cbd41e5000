#pragma once
// The interval of a modelled step time.
#include <optional>

#include "profiler/figures/error_interval.h"
#include "profiler/figures/figure.h"

namespace pipescope::figures {

/// The interval of a modelled step time. None: the times are recorded or given, so that nothing is modelled,
/// or nothing ran. Errors come from, in this order: the profile that this one replays, a calibration of the
/// device, a band of whole steps on this chip, and bands of the kinds of layers in the limiting stage. Work
/// that nobody compared counts as far off as the whole steps that are furthest off (a factor of 1.5).
std::optional<FigureInterval> stepInterval(const Analyses& from);

/// The interval in words that a replayed profile keeps, because a replay changes little of what a device
/// model gets wrong: its step is as far off as the recorded one. stepInterval() reads them there. Empty:
/// there is no interval.
std::string keptInterval(const Analyses& recorded);

}  // namespace pipescope::figures
