#include "engine/schedules/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "profiler/base/nearest.h"

namespace pipescope::schedules {

const ScheduleRegistry& scheduleRegistry() {
  static const ScheduleRegistry registry = [] {
    ScheduleRegistry made;
    registerSchedules(made);
    return made;
  }();
  return registry;
}

int placeCount(const Shape& shape) {
  return 1 + *std::max_element(shape.placeOfStage.begin(), shape.placeOfStage.end());
}

std::string scheduleNames() {
  std::string names;
  for (const ScheduleDefinition& definition : scheduleRegistry().all())
    names += (names.empty() ? "" : ", ") + definition.name;
  return names;
}

base::Result<const ScheduleDefinition*> findSchedule(std::string_view name) {
  for (const ScheduleDefinition& definition : scheduleRegistry().all()) {
    if (definition.name == name) return &definition;
  }
  std::vector<std::string> known;
  for (const ScheduleDefinition& definition : scheduleRegistry().all()) known.push_back(definition.name);
  return base::badInput(fmt::format("There is no schedule \"{}\"{} Known are {}.", name,
                                    base::didYouMean(name, known), scheduleNames()));
}

base::Result<Order> makeOrder(std::string_view schedule, const Shape& shape) {
  if (shape.stages < 1) return base::badInput("A schedule needs at least one stage.");
  if (shape.microBatches < 1) return base::badInput("A schedule needs at least one micro-batch.");
  PIPESCOPE_CHECK(static_cast<int>(shape.placeOfStage.size()) == shape.stages, "a device for each stage");
  PIPESCOPE_ASSIGN(const ScheduleDefinition* definition, findSchedule(schedule));
  PIPESCOPE_ASSIGN(Order order, definition->make(shape));
  order.progression = definition->progression;
  order.pipes = definition->pipes;
  order.splitBackward = definition->splitBackward && shape.training;
  order.weightEntries.resize(static_cast<std::size_t>(shape.stages), 0);
  return order;
}

base::Result<int> chunksPerDevice(const ScheduleDefinition& schedule, int chunks) {
  const int own = schedule.layout == Layout::own ? 1 : 2;
  if (chunks == 0 || chunks == own) return own;
  if (schedule.layout == Layout::own) {
    return base::badInput(fmt::format(
        "The {} schedule has one chunk on each device, but {} are asked for: use interleaved-1f1b, or put "
        "several [[stages]] on a device.",
        schedule.name, chunks));
  }
  if (schedule.layout == Layout::vee) {
    return base::badInput(fmt::format(
        "The {} schedule has two chunks on each device, but {} {} asked for: leave the number out.",
        schedule.name, chunks, chunks == 1 ? "is" : "are"));
  }
  if (chunks < 2) {
    return base::badInput(fmt::format(
        "The {} schedule needs at least two chunks on each device, but {} {} asked for: with one it is 1f1b.",
        schedule.name, chunks, chunks == 1 ? "is" : "are"));
  }
  return chunks;
}

base::Result<std::vector<int>> layOut(const ScheduleDefinition& schedule, int stages, int chunks) {
  PIPESCOPE_ASSIGN(const int each, chunksPerDevice(schedule, chunks));
  if (stages % each != 0) {
    return base::badInput(fmt::format(
        "The {} schedule puts {} stages on each device, but {} stages are not a multiple of that: "
        "use a multiple of {}, or place each stage with `device`.",
        schedule.name, each, stages, each));
  }
  const int places = stages / each;
  std::vector<int> placeOfStage;
  for (int s = 0; s < stages; ++s) {
    const bool back = schedule.layout == Layout::vee && s >= places;
    placeOfStage.push_back(back ? stages - 1 - s : s % places);
  }
  return placeOfStage;
}

}  // namespace pipescope::schedules
