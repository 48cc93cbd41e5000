// The section that lays the order of a schedule, or of a file, over the recorded order.
#include "profiler/sections/planned.h"

#include <fmt/format.h>

#include <algorithm>

#include "profiler/figures/figure.h"
#include "profiler/sections/frame/reports.h"
#include "profiler/sections/frame/words.h"
#include "profiler/sections/replays.h"

namespace pipescope::sections {
namespace {

using replay::DeviceComparison;
using replay::PlanComparison;

std::string taskText(const std::optional<replay::PlannedTask>& task) {
  if (!task) return "nothing";
  return fmt::format("{} of micro-batch {} on stage {}", model::toString(task->pass), task->microBatch,
                     task->stage);
}

std::string nameOf(const analysis::Catalog& catalog, model::DeviceId id) {
  const model::Device* device = catalog.device(id);
  return device == nullptr ? "a device" : device->name;
}

SectionTable plannedTable(const PlanComparison& comparison, const analysis::Catalog& catalog,
                          const Words& words) {
  SectionTable table{"devices",
                     "Devices",
                     words.basis(comparison.earliest < 0 ? "iterations whose passes have the planned order"
                                                         : "first difference of each device"),
                     {},
                     {}};
  table.columns = {{"device", "Index", Format::index, "Device index", false},
                   {"device_name", "Device", Format::plain, ""},
                   {"replica", "Replica", Format::index, ""},
                   {"iterations", "Iterations", Format::count, "recorded"},
                   {"followed", "In order", Format::count, "iterations whose passes have the planned order"},
                   {"iteration", "Iteration", Format::index, "of the first difference"},
                   {"position", "Position", Format::index, "among the passes of the iteration, from 0"},
                   {"planned", "Planned", Format::plain, ""},
                   {"recorded", "Recorded", Format::plain, ""},
                   {"time_cycles", "At", Format::ticks, "start of the recorded pass"}};
  for (const DeviceComparison& device : comparison.devices) {
    std::vector<Cell> row = {deviceIndexCell(device.device), nameOf(catalog, device.device),
                             std::int64_t{device.replica}, std::int64_t{device.iterations},
                             std::int64_t{device.followed}};
    if (device.first) {
      row.insert(
          row.end(),
          {std::int64_t{device.first->iteration}, static_cast<std::int64_t>(device.first->position),
           taskText(device.first->planned), taskText(device.first->recorded), device.first->time.count});
    } else {
      row.resize(table.columns.size());
    }
    table.rows.push_back(std::move(row));
  }
  std::ranges::stable_sort(table.rows, {},
                           [](const std::vector<Cell>& row) { return figures::numberIn(row.front()); });
  table.mostInText = 20;
  return table;
}

std::string verdictOn(const PlanComparison& comparison, const analysis::Catalog& catalog,
                      const Words& words) {
  const std::string plan = comparison.chosen ? fmt::format("{} fits best of all schedules", comparison.name)
                                             : fmt::format("The plan is {}", comparison.name);
  if (comparison.earliest < 0) return fmt::format("{}: all devices do their passes in its order.", plan);
  const DeviceComparison& device = comparison.devices[static_cast<std::size_t>(comparison.earliest)];
  return fmt::format(
      "{}. {} leaves it first: in iteration {}, at {}, the plan has {} at position {}, and the recording "
      "has {}.",
      plan, nameOf(catalog, device.device), device.first->iteration,
      timeText(static_cast<double>(device.first->time.count), words.time, TimeStyle::exact),
      taskText(device.first->planned), device.first->position, taskText(device.first->recorded));
}

base::Result<Section> makePlanned(const Context& context) {
  const replay::PlannedOrder* const plan = planOf(context);
  const auto answer = replay::comparePlan(context.source, context.catalog, context.executable,
                                          plan == nullptr ? replay::PlannedOrder() : *plan, knownSchedules());
  // A plan that nobody named is no error where nothing can be compared.
  if (!answer.ok() && (plan != nullptr || answer.error().kind != base::ErrorKind::refused))
    return answer.error();
  const Words words = wordsOf(context.catalog);
  const PlanComparison comparison = answer.ok() ? *answer : PlanComparison();
  const bool any = comparison.passes > 0;
  Section section{"planned", "Planned against actual", {}, {}, {}};
  section.facts = {
      {"plan", "Plan", any ? Cell(comparison.name) : Cell(), Format::plain,
       "The schedule or file; without a choice the schedule that most recorded passes follow."},
      {"chosen_by_fit", "Chosen by fit", any ? Cell(comparison.chosen) : Cell(), Format::truth,
       "True if the user named no plan."},
      {"passes", "Recorded passes", any ? Cell(comparison.passes) : Cell(), Format::count,
       "Forward, backward and weight-gradient passes of all replicas and iterations."},
      {"passes_at_place", "  at their place", any ? Cell(comparison.atPlace) : Cell(), Format::count,
       "Passes at the position, among those of their device and iteration, that the plan gives them."},
      {"share_at_place", "  share",
       any ? Cell(static_cast<double>(comparison.atPlace) / static_cast<double>(comparison.passes)) : Cell(),
       Format::fraction, "Of the recorded passes."},
      {"follows", "Follows the plan", any ? Cell(comparison.earliest < 0) : Cell(), Format::truth,
       "True if every device does its passes in the planned order in every iteration."}};
  section.tables = {plannedTable(comparison, context.catalog, words)};
  if (any) section.remarks.push_back(verdictOn(comparison, context.catalog, words));
  if (!any) lack(section, answer.ok() ? nothingPlaced(context.catalog) : answer.error().message);
  return section;
}

}  // namespace

PIPESCOPE_REGISTER_SECTION(planned) {
  registry.add({"planned", "Planned against actual",
                "The order of a schedule or of a file laid over the recorded one, with the first difference",
                42, makePlanned, true});
}

}  // namespace pipescope::sections
