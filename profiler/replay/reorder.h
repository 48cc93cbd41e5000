#pragma once
// Makes the order of tasks anew after a change of schedule or micro-batches.
#include <map>
#include <set>

#include "profiler/replay/change.h"

namespace pipescope::replay {

/// The recorded work is put into the order of `changed.recording.executable.schedule`. Errors: the schedule
/// refuses the stages or micro-batches, or needs what was not recorded.
base::Status makeOrderAnew(const ChangeContext& context, const Recording& before, Changed& changed);

/// The launches with which segments of these stages begin, on devices that launch a program for each pass.
using Launches = std::map<model::SegmentId, Ticks>;
base::Result<Launches> launchesOf(const ChangeContext& context, const Recording& recording,
                                  const std::set<int>& stages);

/// Adds or removes what a stage recomputes. It is taken to take as long as the forward pass. The launch of
/// the program stays: it then belongs to the backward pass, or to what is recomputed before it.
void setRecompute(Recording& recording, int stage, bool on, const Launches& launches = {});

/// The schedule that gives the order of an imported trace; empty: none does.
std::string recognisedSchedule(const Recording& recording, const Schedules& schedules);

}  // namespace pipescope::replay
