#include "profiler/replay/planned_order.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "profiler/analysis/rows_of_run.h"
#include "profiler/base/nearest.h"

namespace pipescope::replay {
namespace {

using model::Pass;

std::string_view trimmedField(std::string_view text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r'))
    text.remove_suffix(1);
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  return text;
}

std::vector<std::string_view> fieldsOf(std::string_view line) {
  std::vector<std::string_view> fields;
  for (;;) {
    const std::size_t comma = line.find(',');
    fields.push_back(trimmedField(line.substr(0, comma)));
    if (comma == std::string_view::npos) return fields;
    line.remove_prefix(comma + 1);
  }
}

std::optional<int> plannedIndex(std::string_view text) {
  constexpr int kMost = 1'000'000;
  int number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc() || end != text.data() + text.size() || number < 0 || number > kMost)
    return std::nullopt;
  return number;
}

std::optional<Pass> plannedPass(std::string_view text) {
  if (text == "forward") return Pass::forward;
  if (text == "backward") return Pass::backward;
  if (text == "weight_gradient") return Pass::weightGradient;
  return std::nullopt;
}

/// The tasks of a device and iteration, or of a device in the plan.
using Tasks = std::vector<PlannedTask>;

struct RecordedTask {
  PlannedTask task;
  base::Ticks start, end;
};

/// The recorded passes of one device of a replica.
struct RecordedDevice {
  model::DeviceId device;
  int replica = 0;
  std::map<int, std::vector<RecordedTask>> iterations;
};

/// Recorded order, in the form that a plan has.
struct RecordedOrder {
  std::vector<RecordedDevice> devices;
  std::vector<int> placeOfStage;  // devices of the first replica, numbered by their first stage
  std::map<model::DeviceId, int> numberOf;
  int stages = 0, microBatches = 0;
  bool training = false;
};

class RecordedReader {
 public:
  base::Result<RecordedOrder> read(const model::ProfileSource& source, const analysis::Catalog& catalog,
                                   model::ExecutableId executable) {
    const model::Run* run = catalog.lastRunOf(executable);
    if (run == nullptr) return base::refused("Nothing ran, so no order was recorded.");
    PIPESCOPE_ASSIGN(std::vector<model::Placement> placements,
                     analysis::rowsOfRun<model::Placement>(source, *run));
    std::stable_sort(placements.begin(), placements.end(),
                     [](const auto& a, const auto& b) { return a.start < b.start; });
    for (const model::Placement& placement : placements) add(placement);
    if (order_.stages == 0)
      return base::refused(
          "No passes of stages with micro-batches and training steps were recorded, so "
          "there is no order to compare.");
    // Messages to ranks whose traces are missing may tell of stages behind the last one that was recorded.
    constexpr std::int64_t kMostStages = 1 << 12;
    if (const model::Executable* row = catalog.executable(executable); row != nullptr && catalog.measured())
      order_.stages = std::max(order_.stages, static_cast<int>(std::min(row->stages, kMostStages)));
    numberDevices();
    return std::move(order_);
  }

 private:
  void add(const model::Placement& p) {
    if (!model::isComputePass(p.pass) || p.pass == Pass::recompute) return;
    if (p.stage < 0 || p.microBatch < 0 || p.iteration < 0) return;
    const auto [place, isNew] = places_.try_emplace({p.replica, p.device}, order_.devices.size());
    if (isNew) order_.devices.push_back({p.device, p.replica, {}});
    std::vector<RecordedTask>& own = order_.devices[place->second].iterations[p.iteration];
    const PlannedTask task{p.stage, p.microBatch, p.pass};
    order_.training = order_.training || p.pass != Pass::forward;
    order_.stages = std::max(order_.stages, p.stage + 1);
    order_.microBatches = std::max(order_.microBatches, p.microBatch + 1);
    if (p.replica == order_.devices.front().replica) deviceOf_.try_emplace(p.stage, p.device);
    // A pass may have several placements.
    if (!own.empty() && own.back().task == task) {
      own.back().end = std::max(own.back().end, p.end);
    } else {
      own.push_back({task, p.start, p.end});
    }
  }

  void numberDevices() {
    for (int stage = 0; stage < order_.stages; ++stage) {
      const auto device = deviceOf_.find(stage);
      if (device == deviceOf_.end()) {
        order_.placeOfStage.push_back(-1);
        continue;
      }
      const int next = static_cast<int>(order_.numberOf.size());
      order_.placeOfStage.push_back(order_.numberOf.try_emplace(device->second, next).first->second);
    }
  }

  RecordedOrder order_;
  std::map<std::pair<int, model::DeviceId>, std::size_t> places_;
  std::map<int, model::DeviceId> deviceOf_;  // device of each stage of the first replica
};

/// Tasks of each device, by number.
using PlannedDevices = std::vector<Tasks>;

/// Ranks may be missing, and a schedule orders the passes of all.
base::Status checkStages(const RecordedOrder& recorded) {
  const auto missing = std::ranges::find_if(recorded.placeOfStage, [](int device) { return device < 0; });
  if (missing != recorded.placeOfStage.end())
    return base::refused(fmt::format(
        "No passes of stage {} were recorded, so no schedule can be laid over the recorded order: import "
        "the traces of all ranks of a replica, or give the planned order with --order.",
        missing - recorded.placeOfStage.begin()));
  return {};
}

base::Result<PlannedDevices> scheduleTasks(const Schedules& schedules, const std::string& name,
                                           const RecordedOrder& recorded) {
  PIPESCOPE_ASSIGN(const clock::Order order, schedules.make({name, recorded.stages, recorded.microBatches,
                                                             recorded.training, recorded.placeOfStage}));
  PlannedDevices planned;
  for (const std::vector<clock::Task>& tasks : order.places) {
    Tasks& own = planned.emplace_back();
    for (const clock::Task& task : tasks) own.push_back({task.stage, task.microBatch, task.pass});
  }
  return planned;
}

base::Result<PlannedDevices> fileTasks(const PlannedOrder& plan, const RecordedOrder& recorded) {
  PlannedDevices planned(recorded.numberOf.size());
  std::vector<bool> has(static_cast<std::size_t>(recorded.stages));
  for (const PlannedTask& task : plan.tasks) {
    if (task.stage >= recorded.stages)
      return base::badInput(fmt::format("{} names stage {}, but the recording has {} stages, from 0 on.",
                                        plan.name, task.stage, recorded.stages));
    const auto stage = static_cast<std::size_t>(task.stage);
    has[stage] = true;
    const int device = recorded.placeOfStage[stage];
    if (device >= 0) planned[static_cast<std::size_t>(device)].push_back(task);
  }
  for (std::size_t stage = 0; stage < has.size(); ++stage)
    if (!has[stage]) return base::badInput(fmt::format("{} has no pass of stage {}.", plan.name, stage));
  return planned;
}

DeviceComparison compareDevice(const RecordedDevice& device, const Tasks& planned) {
  DeviceComparison result{device.device, device.replica, 0, 0, 0, 0, {}};
  for (const auto& [iteration, recorded] : device.iterations) {
    ++result.iterations;
    std::size_t same = 0;
    std::optional<std::size_t> leaves;
    for (std::size_t i = 0; i < std::max(recorded.size(), planned.size()); ++i) {
      const bool equal = i < recorded.size() && i < planned.size() && recorded[i].task == planned[i];
      same += equal ? 1 : 0;
      if (!equal && !leaves) leaves = i;
    }
    result.passes += static_cast<std::int64_t>(recorded.size());
    result.atPlace += static_cast<std::int64_t>(same);
    if (!leaves) ++result.followed;
    if (!leaves || result.first) continue;
    Divergence divergence{iteration, *leaves, {}, {}, recorded.back().end};
    if (*leaves < planned.size()) divergence.planned = planned[*leaves];
    if (*leaves < recorded.size()) {
      divergence.recorded = recorded[*leaves].task;
      divergence.time = recorded[*leaves].start;
    }
    result.first = divergence;
  }
  return result;
}

PlanComparison compareAll(const RecordedOrder& recorded, const PlannedDevices& planned, std::string name) {
  PlanComparison result;
  result.name = std::move(name);
  // Devices of all replicas do what the device of the same stages does in the first one.
  for (const RecordedDevice& device : recorded.devices) {
    const int stage = device.iterations.begin()->second.front().task.stage;
    const int number = recorded.placeOfStage[static_cast<std::size_t>(stage)];
    const bool known = number >= 0 && static_cast<std::size_t>(number) < planned.size();
    result.devices.push_back(
        compareDevice(device, known ? planned[static_cast<std::size_t>(number)] : Tasks()));
    const DeviceComparison& own = result.devices.back();
    result.passes += own.passes;
    result.atPlace += own.atPlace;
    if (!own.first) continue;
    const auto index = static_cast<int>(result.devices.size()) - 1;
    if (result.earliest < 0 ||
        own.first->time < result.devices[static_cast<std::size_t>(result.earliest)].first->time)
      result.earliest = index;
  }
  return result;
}

}  // namespace

base::Result<PlannedOrder> parsePlan(std::string_view text, const std::string& file) {
  PlannedOrder plan;
  plan.name = file;
  int number = 0;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    ++number;
    line = trimmedField(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    const std::vector<std::string_view> fields = fieldsOf(line);
    if (plan.tasks.empty() && fields.front() == "stage") continue;
    const auto stage = plannedIndex(fields.front());
    const auto pass = fields.size() == 3 ? plannedPass(fields[1]) : std::nullopt;
    const auto microBatch = fields.size() == 3 ? plannedIndex(fields[2]) : std::nullopt;
    if (!stage || !pass || !microBatch)
      return base::badInput(
          fmt::format("{}, line {}: write a stage, a pass (forward, backward or weight_gradient) and a "
                      "micro-batch, such as "
                      "0,forward,3.",
                      file, number));
    plan.tasks.push_back({*stage, *microBatch, *pass});
  }
  if (plan.tasks.empty())
    return base::badInput(fmt::format("{} holds no passes; a line such as 0,forward,3 is one.", file));
  return plan;
}

base::Result<PlanComparison> comparePlan(const model::ProfileSource& source, const analysis::Catalog& catalog,
                                         model::ExecutableId executable, const PlannedOrder& plan,
                                         const Schedules* schedules) {
  PIPESCOPE_ASSIGN(const RecordedOrder recorded, RecordedReader().read(source, catalog, executable));
  if (!plan.tasks.empty()) {
    PIPESCOPE_ASSIGN(const PlannedDevices planned, fileTasks(plan, recorded));
    return compareAll(recorded, planned, plan.name);
  }
  if (schedules == nullptr) return base::refused("This program knows no schedules.");
  PIPESCOPE_TRY(checkStages(recorded));
  if (!plan.name.empty()) {
    if (std::ranges::find(schedules->names, plan.name) == schedules->names.end())
      return base::badInput(fmt::format("There is no schedule \"{}\"{} Known are {}.", plan.name,
                                        base::didYouMean(plan.name, schedules->names),
                                        fmt::join(schedules->names, ", ")));
    PIPESCOPE_ASSIGN(const PlannedDevices planned, scheduleTasks(*schedules, plan.name, recorded));
    return compareAll(recorded, planned, plan.name);
  }
  std::optional<PlanComparison> best;
  for (const std::string& name : schedules->names) {
    const auto planned = scheduleTasks(*schedules, name, recorded);
    if (!planned.ok()) continue;  // the schedule cannot run these stages
    PlanComparison comparison = compareAll(recorded, *planned, name);
    if (!best || comparison.atPlace > best->atPlace) best = std::move(comparison);
  }
  if (!best)
    return base::refused("No schedule can run the recorded stages, so there is no order to compare with.");
  best->chosen = true;
  return *best;
}

}  // namespace pipescope::replay
