#include "profiler/analysis/pipeline/stages.h"

#include <algorithm>
#include <set>

#include "profiler/analysis/block_walk.h"
#include "profiler/analysis/intervals.h"
#include "profiler/analysis/memory/memory.h"
#include "profiler/analysis/pipeline/replay.h"
#include "profiler/analysis/rows_of_run.h"

namespace pipescope::analysis {
namespace {

double length(Ticks start, Ticks end) {
  return static_cast<double>((end - start).count);
}

/// The rows of the first replica in the executable's last run.
struct ReplicaRows {
  const model::Executable* executable = nullptr;
  const model::Run* run = nullptr;
  std::vector<const model::Stage*> stages;
  std::vector<model::Placement> placements;
  std::vector<model::Wait> waits;
  std::vector<model::Transfer> transfers;
  std::map<int, std::vector<model::Placement>> iterations;  ///< placements by iteration

  int stageCount() const { return static_cast<int>(stages.size()); }
  std::set<model::DeviceId> devices() const {
    std::set<model::DeviceId> found;
    for (const model::Stage* stage : stages) found.insert(stage->device);
    return found;
  }
};

Result<ReplicaRows> loadRun(const model::ProfileSource& source, const Catalog& catalog,
                            model::ExecutableId id) {
  ReplicaRows rows;
  rows.executable = catalog.executable(id);
  rows.run = catalog.lastRunOf(id);
  rows.stages = catalog.stagesOf(id);
  if (rows.run == nullptr) return rows;
  PIPESCOPE_ASSIGN(rows.placements, rowsOfRun<model::Placement>(source, *rows.run));
  PIPESCOPE_ASSIGN(rows.waits, rowsOfRun<model::Wait>(source, *rows.run));
  PIPESCOPE_ASSIGN(rows.transfers, rowsOfRun<model::Transfer>(source, *rows.run));
  // All figures are of the first replica. The profile records further replicas where they are slower.
  const std::set<model::DeviceId> own = rows.devices();
  std::erase_if(rows.placements, [](const model::Placement& p) { return p.replica != 0; });
  std::erase_if(rows.waits, [&](const model::Wait& wait) { return !own.contains(wait.device); });
  for (const model::Placement& p : rows.placements) {
    if (p.iteration >= 0) rows.iterations[p.iteration].push_back(p);
  }
  return rows;
}

// --- Costs per stage -------------------------------------------------------------------

void addPasses(const ReplicaRows& rows, StagesReport& report) {
  const double microBatches = static_cast<double>(std::max<std::size_t>(rows.iterations.size(), 1)) *
                              static_cast<double>(std::max<std::int64_t>(report.microBatches, 1));
  const double iterations = static_cast<double>(std::max<std::size_t>(rows.iterations.size(), 1));
  for (const model::Placement& p : rows.placements) {
    if (p.stage < 0 || p.stage >= rows.stageCount()) continue;
    StageReport& stage = report.stages[static_cast<std::size_t>(p.stage)];
    const double ticks = length(p.start, p.end);
    switch (p.pass) {
      case model::Pass::forward:
        stage.forward += ticks / microBatches;
        break;
      case model::Pass::recompute:
        stage.recompute += ticks / microBatches;
        break;
      case model::Pass::backward:
        stage.backward += ticks / microBatches;
        break;
      case model::Pass::weightGradient:
        stage.weightGradient += ticks / microBatches;
        break;
      case model::Pass::hostIn:
        stage.hostIn += ticks / microBatches;
        break;
      case model::Pass::hostOut:
        stage.hostOut += ticks / microBatches;
        break;
      case model::Pass::update:
        stage.update += ticks / iterations;
        break;
      case model::Pass::remote:
        // Loads and stores around the update. Those of a micro-batch belong to no pass of the stage.
        if (p.microBatch < 0) stage.update += ticks / iterations;
        break;
      default:
        break;
    }
  }
}

/// Compares the stages with each other.
void compareStages(StagesReport& report) {
  double sum = 0, slowest = 0, longest = 0;
  for (StageReport& stage : report.stages) {
    stage.busy = stage.forward + stage.recompute + stage.backward + stage.weightGradient;
    stage.occupied = stage.busy + stage.hostIn + stage.hostOut;
    sum += stage.busy;
    if (stage.busy > slowest) {
      slowest = stage.busy;
      report.slowestStage = stage.index;
    }
    if (stage.occupied > longest) {
      longest = stage.occupied;
      report.limitingStage = stage.index;
    }
  }
  for (StageReport& stage : report.stages) {
    stage.share = sum > 0 ? stage.busy / sum : 0;
    stage.ratioToSlowest = slowest > 0 ? stage.busy / slowest : 0;
  }
}

void addWaits(const ReplicaRows& rows, StagesReport& report) {
  const double iterations = static_cast<double>(std::max<std::size_t>(rows.iterations.size(), 1));
  std::map<std::pair<std::int64_t, model::WaitCause>, double> sums;
  for (const model::Wait& wait : rows.waits)
    sums[{wait.device.value, wait.cause}] += length(wait.start, wait.end) / iterations;
  for (StageReport& stage : report.stages) {
    for (const auto& [key, ticks] : sums) {
      if (key.first == stage.device) stage.waits[key.second] += ticks;
    }
  }
}

/// Largest ÷ mean over the devices that hold a stage.
template <class Cost>
double imbalance(const StagesReport& report, Cost cost) {
  std::map<int, double> byDevice;
  for (const StageReport& stage : report.stages) byDevice[stage.device] += cost(stage);
  double sum = 0, most = 0;
  for (const auto& [device, ticks] : byDevice) {
    sum += ticks;
    most = std::max(most, ticks);
  }
  return sum > 0 ? most * static_cast<double>(byDevice.size()) / sum : 0;
}

// --- The bubble ------------------------------------------------------------------------

struct Span {
  double start = 0, end = 0;
  double overlap(double a, double b) const { return std::max(0.0, std::min(end, b) - std::max(start, a)); }
};

double at(Ticks ticks) {
  return static_cast<double>(ticks.count);
}

/// From the first forward's start to the last backward's end (inference: the last forward's).
Span computeSpan(const std::vector<model::Placement>& iteration) {
  Span span{1e300, -1e300};
  for (const model::Placement& p : iteration) {
    if (!model::isComputePass(p.pass)) continue;
    span.start = std::min(span.start, at(p.start));
    span.end = std::max(span.end, at(p.end));
  }
  return span;
}

/// The steady part of an iteration. With slots, it lasts from the first to the last slot in which every
/// device does each kind of pass that it ever does. Without such slots, it begins when the last device has
/// begun and ends when the first device has finished.
Span steadySpan(const std::vector<model::Placement>& iteration, const std::set<model::DeviceId>& devices,
                Span whole) {
  std::map<model::DeviceId, std::set<std::pair<int, bool>>> kinds;  // device → (stage, forward)
  std::map<int, std::map<model::DeviceId, std::set<std::pair<int, bool>>>> slots;
  std::map<int, Span> slotSpans;
  std::map<model::DeviceId, Span> deviceSpans;
  for (const model::Placement& p : iteration) {
    if (!model::isComputePass(p.pass)) continue;
    const std::pair kind{p.stage, p.pass == model::Pass::forward};
    kinds[p.device].insert(kind);
    const auto widen = [&](Span& span) {
      span = {std::min(span.start, at(p.start)), std::max(span.end, at(p.end))};
    };
    widen(deviceSpans.try_emplace(p.device, Span{1e300, -1e300}).first->second);
    if (p.slot < 0) continue;
    slots[p.slot][p.device].insert(kind);
    widen(slotSpans.try_emplace(p.slot, Span{1e300, -1e300}).first->second);
  }
  Span steady{1e300, -1e300};
  for (const auto& [slot, doing] : slots) {
    if (doing != kinds) continue;
    steady.start = std::min(steady.start, slotSpans[slot].start);
    steady.end = std::max(steady.end, slotSpans[slot].end);
  }
  if (steady.end > steady.start) return steady;
  steady = whole;
  for (const auto& [device, span] : deviceSpans) {
    if (!devices.contains(device)) continue;
    steady.start = std::max(steady.start, span.start);
    steady.end = std::min(steady.end, span.end);
  }
  if (steady.end < steady.start) steady.start = steady.end = (steady.start + steady.end) / 2;
  return steady;
}

struct Bubble {
  double rampUp = 0, steady = 0, rampDown = 0, exchange = 0;
};

Bubble bubbleOf(const ReplicaRows& rows, int iteration, const std::vector<model::Placement>& placements,
                const std::set<model::DeviceId>& devices) {
  Bubble bubble;
  const Span whole = computeSpan(placements);
  if (whole.end <= whole.start || devices.empty()) return bubble;
  const Span steady = steadySpan(placements, devices, whole);
  double up = 0, mid = 0, down = 0, exchange = 0;
  for (const model::Placement& p : placements) {
    const Span span{at(p.start), at(p.end)};
    if (p.pass == model::Pass::sync) exchange += span.overlap(whole.start, whole.end);
    if (!model::isComputePass(p.pass)) continue;
    up += span.overlap(whole.start, steady.start);
    mid += span.overlap(steady.start, steady.end);
    down += span.overlap(steady.end, whole.end);
  }
  // A device that waits for exchange does not compute, because copies are in progress.
  for (const model::Wait& w : rows.waits) {
    if (w.cause == model::WaitCause::exchange && w.iteration == iteration)
      exchange += Span{at(w.start), at(w.end)}.overlap(whole.start, whole.end);
  }
  const double all = (whole.end - whole.start) * static_cast<double>(devices.size());
  const auto lost = [&](double from, double to, double busy) {
    return ((to - from) * static_cast<double>(devices.size()) - busy) / all;
  };
  bubble.rampUp = lost(whole.start, steady.start, up);
  bubble.steady = lost(steady.start, steady.end, mid);
  bubble.rampDown = lost(steady.end, whole.end, down);
  bubble.exchange = exchange / all;
  return bubble;
}

/// Ticks of an iteration in which transfers occupy the devices; incoming and outgoing ones may overlap.
double transferTicks(const ReplicaRows& rows, const Catalog& catalog, int iteration,
                     const std::set<model::DeviceId>& devices) {
  std::map<model::DeviceId, Intervals> busy;
  for (const model::Transfer& t : rows.transfers) {
    if (t.iteration != iteration) continue;
    busy[catalog.deviceOf(t.fromLane)].add(t.start, t.end);
    busy[catalog.deviceOf(t.toLane)].add(t.start, t.end);
  }
  Ticks sum;
  for (const auto& [device, transfers] : busy) {
    if (devices.contains(device)) sum += transfers.unionLength();
  }
  return at(sum);
}

void addBubble(const ReplicaRows& rows, const Catalog& catalog, StagesReport& report) {
  const std::set<model::DeviceId> devices = rows.devices();
  const double n = static_cast<double>(rows.iterations.size());
  for (const auto& [iteration, placements] : rows.iterations) {
    const Bubble bubble = bubbleOf(rows, iteration, placements, devices);
    report.bubbleRampUp += bubble.rampUp / n;
    report.bubbleSteady += bubble.steady / n;
    report.bubbleRampDown += bubble.rampDown / n;
    const Span whole = computeSpan(placements);
    double exchange = bubble.exchange;
    if (rows.executable->scheduleKind == model::ScheduleKind::barrier && whole.end > whole.start) {
      exchange += transferTicks(rows, catalog, iteration, devices) /
                  ((whole.end - whole.start) * static_cast<double>(devices.size()));
    }
    report.exchangeShareOfBubble += exchange / n;
  }
  report.bubbleFraction = report.bubbleRampUp + report.bubbleSteady + report.bubbleRampDown;
  report.exchangeShareOfBubble = std::min(report.exchangeShareOfBubble, report.bubbleFraction);
}

// --- Lost time, operations, memory -----------------------------------------------------

/// Stages that receive nothing from the stage before them: a second pipe begins there.
std::set<int> pipeStarts(const Catalog& catalog, const ReplicaRows& rows) {
  std::set<int> starts;
  for (int s = 1; s < rows.stageCount(); ++s) starts.insert(s);
  for (const model::Boundary& b : catalog.boundaries) {
    if (b.executable == rows.executable->id) starts.erase(std::max(b.fromStage, b.toStage));
  }
  return starts;
}

void addLostTime(const ReplicaRows& rows, const Catalog& catalog, StagesReport& report) {
  if (rows.iterations.empty() || report.stages.empty()) return;
  std::vector<StageCost> actual;
  StageCost mean;
  const double count = static_cast<double>(report.stages.size());
  for (const StageReport& stage : report.stages) {
    const StageCost cost{stage.forward, stage.recompute + stage.backward, stage.weightGradient};
    actual.push_back(cost);
    mean.forward += cost.forward / count;
    mean.backward += cost.backward / count;
    mean.weight += cost.weight / count;
  }
  const Replay replay(rows.iterations.begin()->second, rows.stageCount(), rows.executable->scheduleKind,
                      pipeStarts(catalog, rows));
  const double devices = static_cast<double>(rows.devices().size());
  const double tActual = replay.makespan(actual);
  const double tMean = replay.makespan(std::vector<StageCost>(report.stages.size(), mean));
  LostTime& lost = report.lost;
  lost.step = length(rows.run->start, rows.run->end) / static_cast<double>(rows.iterations.size());
  lost.useful = static_cast<double>(report.microBatches) * (mean.forward + mean.backward + mean.weight) *
                count / devices;
  lost.fillAndDrain = tMean - lost.useful;
  lost.imbalance = tActual - tMean;
  lost.exchangeUpdateHost = lost.step - tActual;
}

/// The segments in which the slowest stage computes.
std::set<model::SegmentId> slowestSegments(const Catalog& catalog, const ReplicaRows& rows,
                                           const StagesReport& report) {
  std::set<model::SegmentId> found;
  const std::set<model::DeviceId> own = rows.devices();
  for (const model::Segment& segment : catalog.segments) {
    if (segment.executable == rows.executable->id && segment.stage == report.slowestStage &&
        own.contains(segment.device) && model::isComputePass(segment.pass))
      found.insert(segment.id);
  }
  return found;
}

base::Status addOperations(const model::ProfileSource& source, const Catalog& catalog,
                           const ReplicaRows& rows, StagesReport& report) {
  const StageReport* slowest = report.slowest();
  if (slowest == nullptr) return {};
  const std::set<model::SegmentId> wanted = slowestSegments(catalog, rows, report);
  std::map<model::OperatorId, StageOperation> byOperator;
  PIPESCOPE_TRY(forAllRows<model::Step>(source, [&](const model::Step& step) {
    if (!wanted.contains(step.segment)) return;
    const model::OperatorId op = catalog.programs[step.program].op;
    if (!catalog.operators.contains(op)) return;
    const auto [place, added] = byOperator.try_emplace(op);
    StageOperation& sum = place->second;
    if (added) {
      const model::Operator described = catalog.operators[op];
      sum.name = catalog.namePath(described.debugContext);
      sum.kind = described.kind;
      sum.pass = described.pass;
    }
    sum.ticksPerMicroBatch += static_cast<double>(step.ticks.count);
  }));
  for (auto& [op, sum] : byOperator) {
    sum.share = sum.ticksPerMicroBatch / slowest->busy;
    report.slowestOperations.push_back(sum);
  }
  std::stable_sort(report.slowestOperations.begin(), report.slowestOperations.end(),
                   [](const StageOperation& a, const StageOperation& b) {
                     return a.ticksPerMicroBatch > b.ticksPerMicroBatch;
                   });
  constexpr std::size_t kMostShown = 10;
  if (report.slowestOperations.size() > kMostShown) report.slowestOperations.resize(kMostShown);
  return {};
}

void addMemory(const Catalog& catalog, model::ExecutableId id, const Memory& all, StagesReport& report) {
  for (StageReport& stage : report.stages) {
    for (const DeviceMemory& device : all.devices) {
      if (device.index != stage.device) continue;
      StageMemory part;
      part.alwaysLive = device.alwaysLive;
      part.peakNotAlwaysLive = device.notAlwaysLivePeak;
      part.worstUnit = device.worstUnit;
      part.worstUnitBytes = device.maxUnitIncludingGaps;
      part.freeBytes = device.bytesPerUnit - device.maxUnitIncludingGaps;
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

}  // namespace

Result<StagesReport> stagesReport(const model::ProfileSource& source, const Catalog& catalog,
                                  model::ExecutableId id, const Memory& memory) {
  StagesReport report;
  PIPESCOPE_ASSIGN(const ReplicaRows rows, loadRun(source, catalog, id));
  if (rows.executable == nullptr) return base::badInput("The profile has no such executable.");
  report.clockHz = catalog.timebase({}).ticksPerSecond;
  report.microBatches = rows.executable->microBatches;
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
  for (std::size_t i = 0; i < report.stages.size(); ++i) {
    if (report.stages[i].index != static_cast<int>(i))
      return base::badInput("The profile's stages are not numbered from 0 without gap.");
  }
  addPasses(rows, report);
  compareStages(report);
  addWaits(rows, report);
  report.imbalance = imbalance(report, [](const StageReport& s) { return s.busy; });
  report.imbalanceForward = imbalance(report, [](const StageReport& s) { return s.forward; });
  report.imbalanceBackward =
      imbalance(report, [](const StageReport& s) { return s.recompute + s.backward + s.weightGradient; });
  if (rows.run != nullptr) {
    addBubble(rows, catalog, report);
    addLostTime(rows, catalog, report);
  }
  PIPESCOPE_TRY(addOperations(source, catalog, rows, report));
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
