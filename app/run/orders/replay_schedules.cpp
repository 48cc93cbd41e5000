#include "app/run/orders/replay_schedules.h"

#include "engine/schedules/schedule.h"

namespace pipescope::app {

replay::Schedules replaySchedules() {
  replay::Schedules schedules;
  schedules.make = [](const replay::OrderRequest& request) {
    return schedules::makeOrder(
        request.schedule, {request.stages, request.microBatches, request.training, request.placeOfStage});
  };
  for (const schedules::ScheduleDefinition& definition : schedules::scheduleRegistry().all())
    if (definition.pipelined) schedules.names.push_back(definition.name);
  return schedules;
}

}  // namespace pipescope::app
