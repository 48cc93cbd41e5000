#include "engine/schedules/schedule.h"

#include <fmt/format.h>

#include <algorithm>

namespace pipescope::schedules {

const ScheduleRegistry& scheduleRegistry() {
  static const ScheduleRegistry registry = [] {
    ScheduleRegistry made;
    registerSchedules(made);
    return made;
  }();
  return registry;
}

int deviceCount(const Shape& shape) {
  return 1 + *std::max_element(shape.deviceOfStage.begin(), shape.deviceOfStage.end());
}

base::Result<Order> makeOrder(std::string_view schedule, const Shape& shape) {
  if (shape.stages < 1) return base::badInput("A schedule needs at least one stage.");
  if (shape.microBatches < 1) return base::badInput("A schedule needs at least one micro-batch.");
  PIPESCOPE_CHECK(static_cast<int>(shape.deviceOfStage.size()) == shape.stages, "a device for each stage");
  std::string known;
  for (const ScheduleDefinition& definition : scheduleRegistry().all()) {
    if (definition.name == schedule) return definition.make(shape);
    known += (known.empty() ? "" : ", ") + definition.name;
  }
  return base::badInput(fmt::format("There is no schedule \"{}\"; known are {}.", schedule, known));
}

}  // namespace pipescope::schedules
