#include "engine/schedules/schedule_kind.h"

namespace pipescope::schedules {

model::ScheduleKind scheduleKindOf(Progression progression) {
  switch (progression) {
    case Progression::oneAtATime:
      return model::ScheduleKind::oneAtATime;
    case Progression::barrier:
      return model::ScheduleKind::barrier;
    case Progression::dependency:
      break;
  }
  return model::ScheduleKind::dependency;
}

}  // namespace pipescope::schedules
