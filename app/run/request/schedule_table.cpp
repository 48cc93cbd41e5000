#include "app/run/request/schedule_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/compiler/record_compilation.h"
#include "engine/devices/fixed/fixed_system.h"
#include "engine/emulate/emulator.h"
#include "profiler/base/number_text.h"
#include "profiler/record/memory_profile.h"

namespace pipescope::app {
namespace {

double units(base::Ticks ticks) {
  return static_cast<double>(ticks.count) / static_cast<double>(devices::kFixedTicksPerUnit);
}

/// The largest number of micro-batches that a device holds at once when it runs its tasks in order.
int peakLive(const std::vector<schedules::Task>& tasks, model::Pass last) {
  int live = 0, peak = 0;
  for (const schedules::Task& task : tasks) {
    if (task.pass == model::Pass::forward) peak = std::max(peak, ++live);
    if (task.pass == last) --live;
  }
  return peak;
}

/// True for the passes of micro-batches. Updates and copies of the host have no place in a table.
bool isPass(model::Pass pass) {
  return pass == model::Pass::forward || pass == model::Pass::recompute || pass == model::Pass::backward ||
         pass == model::Pass::weightGradient;
}

std::string kindOf(model::Pass pass) {
  return pass == model::Pass::weightGradient ? "weight" : model::toString(pass);
}

/// The label of a slot: "F3", or "F3.0" if a device has several chunks.
std::string cellOf(const ScheduleTable& table, const ScheduleSlot& slot) {
  const char letter = slot.kind == "forward"     ? 'F'
                      : slot.kind == "recompute" ? 'R'
                      : slot.kind == "weight"    ? 'W'
                                                 : 'B';
  const bool chunks = table.stashEntries.size() > table.utilisation.size();
  return fmt::format("{}{}{}", letter, slot.microBatch, chunks ? fmt::format(".{}", slot.chunk) : "");
}

std::string gridText(const ScheduleTable& table) {
  const auto devices = table.utilisation.size();
  std::vector<std::vector<std::string>> cells(
      devices, std::vector<std::string>(static_cast<std::size_t>(table.cycles)));
  std::size_t width = 3;
  for (const ScheduleSlot& slot : table.slots) {
    std::string& cell = cells[static_cast<std::size_t>(slot.device)][static_cast<std::size_t>(slot.slot)];
    cell += cellOf(table, slot);
    width = std::max(width, cell.size());
  }
  std::string text = "cycle   ";
  for (int c = 0; c < table.cycles; ++c) text += fmt::format(" {:>{}}", c, width);
  for (std::size_t d = 0; d < devices; ++d) {
    text += fmt::format("\ndevice {}", d);
    for (const std::string& cell : cells[d]) text += fmt::format(" {:>{}}", cell.empty() ? "." : cell, width);
  }
  return text + "\n";
}

std::string startTimesText(const ScheduleTable& table) {
  std::string text;
  for (std::size_t d = 0; d < table.utilisation.size(); ++d) {
    text += fmt::format("device {}", d);
    for (const ScheduleSlot& slot : table.slots) {
      if (slot.device == static_cast<int>(d))
        text += fmt::format(" {}@{:g}", cellOf(table, slot), slot.start);
    }
    text += "\n";
  }
  return text;
}

}  // namespace

base::Result<ScheduleTable> scheduleTable(const compile::FixedRun& run) {
  constexpr std::size_t kMostTasks = 2'000'000;
  const std::size_t tasks = run.stages.size() * static_cast<std::size_t>(run.microBatches);
  if (tasks > kMostTasks) {
    return base::badInput(fmt::format(
        "A table of {} stages × {} micro-batches is too long to show: ask for at most {} together, or "
        "run the schedule with system.name = \"fixed\" and look at its profile.",
        run.stages.size(), run.microBatches, kMostTasks));
  }
  if (run.deviceIterations > 1 || run.replicas > 1)
    return base::badInput("A table shows one iteration of one replica: leave out further ones.");
  PIPESCOPE_ASSIGN(const compile::Compilation compilation, compile::compileFixed(run));
  record::MemoryProfile profile;
  record::Recorder recorder(profile);
  const compile::RecordedCompilation recorded =
      compile::recordCompilation(recorder, compilation, emulate::RecordLevel::stages);
  emulate::Emulator emulator(recorder, *compilation.system, recorded.ids, emulate::RecordLevel::stages);
  const model::Run call = emulator.call(recorded.executables.front(), {});
  PIPESCOPE_TRY(recorder.finish(model::ProfileState::complete));
  ScheduleTable table;
  table.schedule = run.schedule;
  const schedules::Order& order = compilation.executables.front().order;
  table.sync = model::toString(order.progression);
  table.cycles = order.slots;
  table.stashEntries = order.stashEntries;
  table.makespan = units(call.end - call.start);
  PIPESCOPE_ASSIGN(const model::Rows<model::Placement> placements, profile.rows<model::Placement>());
  for (const model::Placement& p : *placements) {
    if (!isPass(p.pass)) continue;
    table.slots.push_back({static_cast<int>(p.device.value), units(p.start), units(p.end), kindOf(p.pass),
                           p.microBatch, p.slot, p.chunk});
  }
  std::stable_sort(table.slots.begin(), table.slots.end(), [](const auto& a, const auto& b) {
    return std::tie(a.device, a.start) < std::tie(b.device, b.start);
  });
  std::vector<double> busy(order.places.size(), 0);
  for (const ScheduleSlot& slot : table.slots)
    busy[static_cast<std::size_t>(slot.device)] += slot.end - slot.start;
  for (const double sum : busy) table.utilisation.push_back(table.makespan > 0 ? sum / table.makespan : 0);
  const model::Pass last = order.splitBackward ? model::Pass::weightGradient : model::Pass::backward;
  for (const std::vector<schedules::Task>& device : order.places)
    table.peakLive.push_back(run.training ? peakLive(device, last) : 1);
  return table;
}

std::string toText(const ScheduleTable& table) {
  std::string text = table.cycles > 0 ? gridText(table) : startTimesText(table);
  text += fmt::format("\nsync         {}\nmakespan     {:g}\nutilisation ", table.sync, table.makespan);
  for (const double u : table.utilisation) text += fmt::format(" {:.3f}", u);
  text += fmt::format("\npeak live    {}\nstash        {}\n", fmt::join(table.peakLive, " "),
                      fmt::join(table.stashEntries, " "));
  return text;
}

std::string toJson(const ScheduleTable& table) {
  // These figures have 12 significant digits, like all derived figures in JSON.
  const auto rounded = [](double value) {
    return base::numberOf(fmt::format("{:.12g}", value)).value_or(value);
  };
  nlohmann::ordered_json json;
  json["schedule"] = table.schedule;
  json["sync"] = table.sync;
  json["makespan"] = rounded(table.makespan);
  for (const double share : table.utilisation) json["utilisation"].push_back(rounded(share));
  json["peak_live"] = table.peakLive;
  json["stash_entries"] = table.stashEntries;
  json["slots"] = nlohmann::ordered_json::array();
  for (const ScheduleSlot& slot : table.slots) {
    json["slots"].push_back({{"device", slot.device},
                             {"start", rounded(slot.start)},
                             {"end", rounded(slot.end)},
                             {"kind", slot.kind},
                             {"micro_batch", slot.microBatch},
                             {"chunk", slot.chunk}});
  }
  return json.dump(2) + "\n";
}

}  // namespace pipescope::app
