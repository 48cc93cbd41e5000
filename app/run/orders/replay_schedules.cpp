#include "app/run/orders/replay_schedules.h"

#include "engine/schedules/schedule.h"
#include "engine/schedules/schedule_kind.h"

namespace pipescope::app {
namespace {

replay::TaskKind taskKindOf(model::Pass pass) {
  if (pass == model::Pass::forward) return replay::TaskKind::forward;
  return pass == model::Pass::backward ? replay::TaskKind::backward : replay::TaskKind::weight;
}

base::Result<replay::ReplayOrder> orderFor(const replay::OrderRequest& request) {
  const schedules::Shape shape{request.stages, request.microBatches, request.training, request.deviceOfStage};
  PIPESCOPE_ASSIGN(const schedules::Order made, schedules::makeOrder(request.schedule, shape));
  replay::ReplayOrder order;
  order.progression = schedules::scheduleKindOf(made.progression);
  order.serialUpdate = made.update == schedules::UpdateOrder::serial;
  order.splitBackward = made.splitBackward;
  order.pipes = made.pipes;
  order.slots = made.slots;
  order.stashEntries = made.stashEntries;
  for (const std::vector<schedules::Task>& tasks : made.devices) {
    std::vector<replay::ReplayTask>& own = order.devices.emplace_back();
    for (const schedules::Task& task : tasks)
      own.push_back({task.stage, task.microBatch, task.slot, taskKindOf(task.pass), task.joined});
  }
  return order;
}

}  // namespace

replay::Schedules replaySchedules() {
  replay::Schedules schedules{{}, orderFor};
  for (const schedules::ScheduleDefinition& definition : schedules::scheduleRegistry().all())
    if (definition.pipelined) schedules.names.push_back(definition.name);
  return schedules;
}

}  // namespace pipescope::app
