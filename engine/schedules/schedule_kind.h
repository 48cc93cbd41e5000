#pragma once
// What profiles and replays call the progression of a schedule.
#include "engine/schedules/schedule.h"
#include "profiler/model/enums.h"

namespace pipescope::schedules {

model::ScheduleKind scheduleKindOf(Progression progression);

}  // namespace pipescope::schedules
