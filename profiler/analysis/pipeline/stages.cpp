#include "profiler/analysis/pipeline/stages.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <span>

#include "profiler/analysis/memory/memory.h"
#include "profiler/analysis/pipeline/bubble.h"
#include "profiler/analysis/pipeline/even_costs.h"
#include "profiler/analysis/pipeline/replica_rows.h"
#include "profiler/analysis/pipeline/stage_operations.h"
#include "profiler/analysis/placements_by_id.h"
#include "profiler/base/intervals.h"

namespace pipescope::analysis {
namespace {

// --- Costs per stage -------------------------------------------------------------------

double lengthOf(const model::Placement& placement) {
  return static_cast<double>((placement.end - placement.start).count);
}

/// Returns the part in which a placement of a stage counts. Null: it counts nowhere.
double* partOf(StageReport& stage, const model::Placement& placement) {
  switch (placement.pass) {
    case model::Pass::forward:
      return &stage.forward;
    case model::Pass::recompute:
      return &stage.recompute;
    case model::Pass::backward:
      return &stage.backward;
    case model::Pass::weightGradient:
      return &stage.weightGradient;
    case model::Pass::hostIn:
      return &stage.hostIn;
    case model::Pass::hostOut:
      return &stage.hostOut;
    case model::Pass::update:
      return &stage.update;
    case model::Pass::collective:
      // Sums of gradients follow the passes. The sums of a micro-batch are a part of its pass.
      return placement.microBatch < 0 ? nullptr : &stage.collective;
    case model::Pass::remote:
      // Loads and stores around the update count with it.
      return placement.microBatch < 0 ? &stage.update : &stage.remote;
    default:
      return nullptr;
  }
}

/// Returns the number of micro-batches of a stage that have a pass. A trace may begin or end within a step;
/// an emulated run is whole, so its passes are not counted.
std::map<std::pair<std::int32_t, model::Pass>, double> countedPasses(const ReplicaRows& rows, bool measured) {
  std::map<std::pair<std::int32_t, model::Pass>, std::set<std::pair<std::int32_t, std::int32_t>>> seen;
  std::map<std::pair<std::int32_t, model::Pass>, double> counts;
  if (!measured) return counts;
  for (const model::Placement& p : rows.placements)
    if (model::isComputePass(p.pass)) seen[{p.stage, p.pass}].insert({p.iteration, p.microBatch});
  for (const auto& [key, passes] : seen) counts[key] = static_cast<double>(passes.size());
  return counts;
}

/// Finds out whether the passes of a recorded run state their steps and micro-batches.
void findUnknown(const ReplicaRows& rows, StagesReport& report) {
  const auto ofStage = [](const model::Placement& p) { return p.stage >= 0 && model::isComputePass(p.pass); };
  report.stepsKnown = std::ranges::none_of(rows.placements, ofStage) || !rows.iterations.empty();
  report.microBatchesKnown = std::ranges::none_of(
      rows.placements, [&](const model::Placement& p) { return ofStage(p) && p.microBatch < 0; });
}

void addPasses(const ReplicaRows& rows, bool measured, StagesReport& report) {
  const double iterations = static_cast<double>(std::max<std::size_t>(rows.iterations.size(), 1));
  const double microBatches =
      iterations * static_cast<double>(std::max<std::int64_t>(report.microBatchesOfStage, 1));
  const auto recordedPasses = countedPasses(rows, measured);
  std::vector<base::Intervals> occupied(report.stages.size());
  for (const model::Placement& p : rows.placements) {
    if (p.stage < 0 || static_cast<std::size_t>(p.stage) >= report.stages.size()) continue;
    StageReport& stage = report.stages[static_cast<std::size_t>(p.stage)];
    double* part = partOf(stage, p);
    if (part == nullptr) continue;
    const auto counted = recordedPasses.find({p.stage, p.pass});
    const double count = counted == recordedPasses.end() ? microBatches : counted->second;
    *part += lengthOf(p) / (part == &stage.update ? iterations : count);
    // Host copies may run beside the passes.
    if (part != &stage.update) occupied[static_cast<std::size_t>(p.stage)].add(p.start, p.end);
  }
  for (StageReport& stage : report.stages) {
    stage.busy = stage.forward + stage.recompute + stage.backward + stage.weightGradient;
    double count = report.stepsKnown ? microBatches : 1;
    for (const auto& [pass, recorded] : recordedPasses)
      if (!report.stepsKnown && pass.first == stage.index) count = std::max(count, recorded);
    stage.occupied =
        static_cast<double>(occupied[static_cast<std::size_t>(stage.index)].unionLength().count) / count;
  }
}

/// Adds the time in which the transfers of a stage's device keep it from computing. If passes start as soon
/// as their inputs are there, transfers run beside the passes and keep no device from computing.
void addExchange(const ReplicaRows& rows, const Catalog& catalog, StagesReport& report) {
  if (rows.run == nullptr || rows.executable->scheduleKind == model::ScheduleKind::dependency) return;
  std::map<model::DeviceId, base::Intervals> working, transfers;
  std::map<int, double> stagesOn;
  for (const StageReport& stage : report.stages) ++stagesOn[stage.device];
  for (const model::Placement& p : rows.placements) {
    // A recorded run has placements beside its passes, too, such as those of the transfers.
    if (p.pass != model::Pass::other || p.stage >= 0) working[p.device].add(p.start, p.end);
  }
  for (const model::Transfer& t : rows.transfers) {
    for (const model::LaneId lane : {t.fromLane, t.toLane})
      transfers[catalog.deviceOf(lane)].add(t.start, t.end);
  }
  const double microBatches = static_cast<double>(std::max<std::size_t>(rows.iterations.size(), 1)) *
                              static_cast<double>(std::max<std::int64_t>(report.microBatchesOfStage, 1));
  for (StageReport& stage : report.stages) {
    const model::DeviceId device(stage.device);
    const Ticks alone = transfers[device].unionLength() - commonLength(transfers[device], working[device]);
    stage.exchange = static_cast<double>(alone.count) / microBatches / stagesOn[stage.device];
    stage.occupied += stage.exchange;
  }
}

/// Compares the stages with each other.
void compareStages(StagesReport& report) {
  double sum = 0, busiest = 0, longest = 0;
  for (const StageReport& stage : report.stages) {
    sum += stage.busy;
    if (stage.busy > busiest) {
      busiest = stage.busy;
      report.slowestStage = stage.index;
    }
    if (report.missing.empty() && stage.occupied > longest) {
      longest = stage.occupied;
      report.limitingStage = stage.index;
    }
  }
  for (StageReport& stage : report.stages) {
    stage.share = sum > 0 ? stage.busy / sum : 0;
    stage.ratioToSlowest = busiest > 0 ? stage.busy / busiest : 0;
    stage.limits = longest > 0 && stage.occupied >= longest * (1 - kEqualStages);
  }
}

void addWaits(const ReplicaRows& rows, StagesReport& report) {
  const double iterations = static_cast<double>(std::max<std::size_t>(rows.iterations.size(), 1));
  PerDevice<std::map<model::WaitCause, double>> sums;
  for (const model::Wait& wait : rows.waits)
    sums[wait.device][wait.cause] += static_cast<double>((wait.end - wait.start).count) / iterations;
  for (StageReport& stage : report.stages)
    if (const auto* own = sums.find(model::DeviceId(stage.device))) stage.waits = *own;
}

/// Largest ÷ mean over the devices that hold a stage; none if all take no time.
template <class Cost>
std::optional<double> imbalance(const StagesReport& report, Cost cost) {
  std::map<int, double> byDevice;
  for (const StageReport& stage : report.stages)
    if (stage.recorded) byDevice[stage.device] += cost(stage);
  double sum = 0, most = 0;
  for (const auto& [device, ticks] : byDevice) {
    sum += ticks;
    most = std::max(most, ticks);
  }
  if (sum <= 0) return std::nullopt;
  return most * static_cast<double>(byDevice.size()) / sum;
}

// --- Lost time, operations, memory -----------------------------------------------------

/// The replay of a recorded iteration takes every pass at its mean. If passes vary, it may take longer than
/// the iterations did, by less than this share of the step time.
constexpr double kReplayError = 0.01;
constexpr double kRounding = 1e-9;

/// Returns a − b, or 0 if only rounding tells them apart. Means are fractions of ticks, and the clock rounds
/// them.
double lostBetween(double a, double b) {
  return std::abs(a - b) <= kRounding * std::max(a, b) ? 0 : a - b;
}

/// The iteration with most passes: the first or last one of a recorded run may be there in part only.
std::span<const model::Placement> wholeIteration(const ReplicaRows& rows) {
  const auto passes = [](const auto& iteration) {
    return std::ranges::count_if(iteration.second, [](const model::Placement& p) {
      return p.iteration >= 0 && model::isComputePass(p.pass);
    });
  };
  return std::ranges::max_element(rows.iterations, {}, passes)->second;
}

void addLostTime(const ReplicaRows& rows, const Catalog& catalog, StagesReport& report) {
  if (rows.iterations.empty() || report.stages.empty()) return;
  std::vector<StagePassTicks> actual, even;
  std::map<int, double> stagesOn;
  for (const StageReport& stage : report.stages) ++stagesOn[stage.device];
  StagePassTicks mean;  // mean of a device
  const double count = static_cast<double>(stagesOn.size());
  for (const StageReport& stage : report.stages) {
    const StagePassTicks cost{stage.forward, stage.recompute + stage.backward, stage.weightGradient};
    actual.push_back(cost);
    mean.forward += cost.forward / count;
    mean.backward += cost.backward / count;
    mean.weight += cost.weight / count;
  }
  // Devices are balanced if each takes the mean, whatever the number of its stages.
  for (const StageReport& stage : report.stages) {
    const double stages = stagesOn[stage.device];
    even.push_back({mean.forward / stages, mean.backward / stages, mean.weight / stages});
  }
  const EvenCosts replay(wholeIteration(rows), rows.stageCount(), rows.executable->scheduleKind,
                         catalog.pipesOf(rows.executable->id));
  const double devices = static_cast<double>(rows.devices().size());
  double tActual = replay.makespan(actual);
  const double tMean = replay.makespan(even);
  for (const auto& [iteration, placements] : rows.iterations)
    report.flush += flushOf(placements).length() / static_cast<double>(rows.iterations.size());
  LostTime& lost = report.lost;
  lost.step = meanStepTime(rows.spans);
  lost.useful = static_cast<double>(report.microBatchesOfStage) *
                (mean.forward + mean.backward + mean.weight) * count / devices;
  if (catalog.measured()) {
    lost.replayed =
        tMean >= lost.useful * (1 - kRounding) && tActual > 0 && tActual <= lost.step * (1 + kReplayError);
    if (!lost.replayed) lost.useful = 0;
    if (!lost.replayed) return;
    tActual = std::min(tActual, lost.step);
  }
  lost.fillAndDrain = lostBetween(tMean, lost.useful);
  lost.imbalance = lostBetween(tActual, tMean);
  lost.exchangeUpdateHost = lostBetween(lost.step, tActual);
}

void addMemory(const Catalog& catalog, model::ExecutableId id, const Memory& all, StagesReport& report) {
  for (StageReport& stage : report.stages) {
    for (const DeviceMemory& device : all.devices) {
      if (device.index != stage.device) continue;
      StageMemory part;
      part.alwaysLive = device.alwaysLive;
      part.peakNotAlwaysLive = device.notAlwaysLivePeak;
      part.worstUnit = device.worstUnit;
      part.worstUnitBytes = device.maxUnit;
      part.worstSpan = device.maxUnitIncludingGaps;
      part.freeBytes = device.bytesPerUnit - device.maxUnit;
      stage.memory = part;
    }
  }
  for (const model::Stage* row : catalog.stagesOf(id)) {
    for (StageReport& stage : report.stages) {
      if (stage.index == row->index && stage.memory)
        stage.memory->stash = row->stashBytesPerEntry * row->stashEntries;
    }
  }
}

/// Adds the stages that a recorded run has and its trace does not hold. `stages` are ordered by number.
void addMissingStages(std::int64_t count, StagesReport& report) {
  constexpr std::int64_t kMostStages = 1 << 12;  // A damaged file may name any number.
  std::vector<StageReport> all;
  if (report.stages.back().index >= kMostStages) report.stages.clear();
  const auto addUpTo = [&](std::int64_t end) {
    while (static_cast<std::int64_t>(all.size()) < std::min(end, kMostStages)) {
      StageReport stage;
      stage.index = static_cast<int>(all.size());
      stage.device = -1;
      stage.recorded = false;
      report.missing.push_back(stage.index);
      all.push_back(std::move(stage));
    }
  };
  for (StageReport& stage : report.stages) {
    addUpTo(stage.index);
    all.push_back(std::move(stage));
  }
  addUpTo(count);
  report.stages = std::move(all);
}

/// Finds the stage that takes longest in another replica, compared with the first one.
void findSlowReplica(const ReplicaRows& rows, const Catalog& catalog, StagesReport& report) {
  constexpr double kNoticeable = 1.05;
  const auto width = static_cast<int>(catalog.widthOf(rows.executable->id));
  SlowReplica slowest{0, 0, 0, {}, kNoticeable};
  for (const auto& [place, time] : rows.times) {
    const auto& [stage, copy] = place;
    const auto first = rows.times.find({stage, 0});
    if (first == rows.times.end() || first->second.ticks <= 0) continue;
    const double ratio = time.ticks / first->second.ticks;
    const model::Device* device = catalog.device(time.device);
    if (ratio > slowest.ratio)
      slowest = {stage, copy / width, copy % width, device == nullptr ? "" : device->name, ratio};
  }
  if (slowest.replica > 0 || slowest.rank > 0) report.slowReplica = std::move(slowest);
}

}  // namespace

Result<StagesReport> stagesReport(const model::ProfileSource& source, const Catalog& catalog,
                                  model::ExecutableId id, const Memory& memory) {
  StagesReport report;
  PIPESCOPE_ASSIGN(const ReplicaRows rows, replicaRows(source, catalog, id));
  if (rows.executable == nullptr) return base::badInput("The profile has no such executable.");
  report.clockHz = catalog.timebase({}).ticksPerSecond;
  report.microBatches = rows.executable->microBatches;
  report.microBatchesOfStage = catalog.microBatchesOfStage(id);
  report.schedule = rows.executable->scheduleKind;
  for (const model::Stage* row : rows.stages) {
    StageReport stage;
    stage.index = row->index;
    stage.device = static_cast<int>(row->device.value);
    if (const model::Device* device = catalog.device(row->device)) stage.deviceName = device->name;
    stage.blocks = row->blocks;
    stage.stashEntries = row->stashEntries;
    report.stages.push_back(stage);
  }
  std::sort(report.stages.begin(), report.stages.end(),
            [](const auto& a, const auto& b) { return a.index < b.index; });
  if (catalog.measured() && !report.stages.empty()) addMissingStages(rows.executable->stages, report);
  for (std::size_t i = 0; i < report.stages.size(); ++i) {
    if (report.stages[i].index != static_cast<int>(i))
      return base::badInput("The profile's stages are not numbered from 0 without gap.");
  }
  if (catalog.measured()) findUnknown(rows, report);
  addPasses(rows, catalog.measured(), report);
  addExchange(rows, catalog, report);
  compareStages(report);
  addWaits(rows, report);
  findSlowReplica(rows, catalog, report);
  report.imbalance = imbalance(report, [](const StageReport& s) { return s.busy; });
  report.imbalanceForward = imbalance(report, [](const StageReport& s) { return s.forward; });
  report.imbalanceBackward =
      imbalance(report, [](const StageReport& s) { return s.recompute + s.backward + s.weightGradient; });
  if (rows.run != nullptr && report.missing.empty() && report.stepsKnown) {
    report.bubble = meanBubble(rows, catalog);
    addLostTime(rows, catalog, report);
  }
  PIPESCOPE_TRY(addStageOperations(source, catalog, rows, report.stages));
  addMemory(catalog, id, memory, report);
  for (const model::Boundary& b : catalog.boundaries) {
    if (b.executable == id)
      report.boundaries.push_back({b.fromStage, b.toStage, b.kind, b.tensor, b.shape, b.bytes, b.ticks});
  }
  return report;
}

Result<StagesReport> stagesReport(const model::ProfileSource& source, const Catalog& catalog,
                                  model::ExecutableId id) {
  PIPESCOPE_ASSIGN(const Memory all, memory(source, catalog, id));
  return stagesReport(source, catalog, id, all);
}

}  // namespace pipescope::analysis
