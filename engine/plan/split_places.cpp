#include "engine/plan/split_places.h"

#include "engine/schedules/schedule.h"
#include "profiler/clock/ring_entries.h"

namespace pipescope::plan {

using namespace compile;
namespace {

/// A schedule in which a micro-batch may come back to a device that it has left.
bool returnsToDevices(const schedules::ScheduleDefinition& schedule) {
  if (schedule.layout != schedules::Layout::own || schedule.pipes > 1) return false;
  const schedules::Shape shape{.stages = 3, .microBatches = 64, .training = true, .placeOfStage = {0, 1, 0}};
  return schedules::makeOrder(schedule.name, shape).ok();
}

base::Result<std::vector<int>> devicesOfStages(const LayoutRequest& layout,
                                               const schedules::ScheduleDefinition& schedule) {
  const int stages = layout.splitInto;
  if (!isPhased(layout.strategy) && schedule.pipes == 1)
    return schedules::layOut(schedule, stages, layout.chunks);
  std::vector<int> devices;
  for (int s = 0; s < stages; ++s) {
    const int phased = layout.strategy == Strategy::parallelPhased ? s % 2 : 0;
    devices.push_back(isPhased(layout.strategy) ? phased : s);
  }
  return devices;
}

}  // namespace

base::Result<SplitPlaces> splitPlaces(const ModelRequest& request, bool recomputes) {
  const LayoutRequest& layout = request.layout;
  const ExecutableRequest& first = request.executables.front();
  PIPESCOPE_ASSIGN(const schedules::ScheduleDefinition* schedule,
                   schedules::findSchedule(scheduleOf(layout)));
  SplitPlaces places;
  PIPESCOPE_ASSIGN(places.placeOfStage, devicesOfStages(layout, *schedule));
  places.free = !isPhased(layout.strategy) && returnsToDevices(*schedule);
  schedules::Shape shape;
  shape.training = first.kind == model::ExecutableKind::training;
  shape.microBatches = static_cast<int>(shape.training ? first.microBatches : first.deviceIterations);
  shape.stages = layout.splitInto * schedule->pipes;
  shape.placeOfStage = places.placeOfStage;
  if (schedule->pipes > 1) {
    PIPESCOPE_ASSIGN(shape.placeOfStage, schedules::layOut(*schedule, shape.stages, 0));
  }
  PIPESCOPE_ASSIGN(const schedules::Order order, schedules::makeOrder(schedule->name, shape));
  // The last stage's backward pass follows its forward pass at once, unless it is a phase of its own.
  const bool named = !request.recompute.checkpoints.empty();
  const std::size_t last = places.placeOfStage.size() - (layout.separateBackwardPhase ? 0 : 1);
  const std::vector<std::int64_t> entries = clock::ringEntries(order);
  for (std::size_t s = 0; s < places.placeOfStage.size(); ++s) {
    const bool whole = entries[s] > 0 || s < last;
    places.recomputes.push_back(shape.training && recomputes && (named || whole));
  }
  return places;
}

}  // namespace pipescope::plan
