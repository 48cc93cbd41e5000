#include "profiler/analysis/pipeline/stages.h"

#include <algorithm>
#include <set>

#include "profiler/analysis/memory/memory.h"
#include "profiler/analysis/pipeline/replay.h"
#include "profiler/analysis/run_rows.h"

namespace pipescope::analysis {
namespace {

double length(Ticks start, Ticks end) {
  return static_cast<double>((end - start).count);
}

/// The rows of one run, and what is asked of them again and again.
struct RunRows {
  const model::Executable* executable = nullptr;
  const model::Run* run = nullptr;
  std::vector<const model::Stage*> stages;
  std::vector<model::Placement> placements;
  std::vector<model::Wait> waits;
  std::vector<model::Transfer> transfers;
  std::vector<std::vector<model::Placement>> iterations;  ///< placements by iteration

  int stageCount() const { return static_cast<int>(stages.size()); }
  std::set<model::DeviceId> devices() const {
    std::set<model::DeviceId> found;
    for (const model::Stage* stage : stages) found.insert(stage->device);
    return found;
  }
};

Result<RunRows> loadRun(const model::ProfileSource& source, const Catalog& catalog, model::ExecutableId id) {
  RunRows rows;
  rows.executable = catalog.executable(id);
  rows.run = catalog.lastRunOf(id);
  rows.stages = catalog.stagesOf(id);
  if (rows.run == nullptr) return rows;
  PIPESCOPE_ASSIGN(rows.placements, rowsOfRun<model::Placement>(source, *rows.run));
  PIPESCOPE_ASSIGN(rows.waits, rowsOfRun<model::Wait>(source, *rows.run));
  PIPESCOPE_ASSIGN(rows.transfers, rowsOfRun<model::Transfer>(source, *rows.run));
  // Figures are of one replica, the first; further ones are recorded where they are slower.
  const std::set<model::DeviceId> own = rows.devices();
  std::erase_if(rows.placements, [](const model::Placement& p) { return p.replica != 0; });
  std::erase_if(rows.waits, [&](const model::Wait& wait) { return !own.contains(wait.device); });
  for (const model::Placement& p : rows.placements) {
    if (p.iteration < 0) continue;
    if (static_cast<std::size_t>(p.iteration) >= rows.iterations.size())
      rows.iterations.resize(static_cast<std::size_t>(p.iteration) + 1);
    rows.iterations[static_cast<std::size_t>(p.iteration)].push_back(p);
  }
  return rows;
}

// --- Costs per stage -------------------------------------------------------------------

void addPasses(const RunRows& rows, StagesReport& report) {
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
        // Around the update; those of single micro-batches belong to no pass of the stage.
        if (p.microBatch < 0) stage.update += ticks / iterations;
        break;
      default:
        break;
    }
  }
  double sum = 0, slowest = 0;
  for (StageReport& stage : report.stages) {
    stage.busy = stage.forward + stage.recompute + stage.backward + stage.weightGradient;
    sum += stage.busy;
    if (stage.busy > slowest) {
      slowest = stage.busy;
      report.slowestStage = stage.index;
    }
  }
  for (StageReport& stage : report.stages) {
    stage.share = sum > 0 ? stage.busy / sum : 0;
    stage.ratioToSlowest = slowest > 0 ? stage.busy / slowest : 0;
  }
}

void addWaits(const RunRows& rows, StagesReport& report) {
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

/// max ÷ mean over devices that hold a stage.
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

/// The steady part. With slots: from the first to the last slot in which every device does every kind of pass
/// it ever does; otherwise, or where there is none, from the last device's first work to the first device's
/// last.
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

Bubble bubbleOf(const RunRows& rows, std::size_t iteration, const std::set<model::DeviceId>& devices) {
  Bubble bubble;
  const std::vector<model::Placement>& placements = rows.iterations[iteration];
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
  // Exchange as the devices see it: what they are not computing for because copies go on.
  for (const model::Wait& w : rows.waits) {
    if (w.cause == model::WaitCause::exchange && w.iteration == static_cast<int>(iteration))
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

/// Ticks in which transfers occupy a device, per iteration: the union over its incoming and outgoing ones.
double transferTicks(const RunRows& rows, const Catalog& catalog, int iteration,
                     const std::set<model::DeviceId>& devices) {
  std::map<model::DeviceId, std::vector<Span>> spans;
  for (const model::Transfer& t : rows.transfers) {
    const auto owner = [&](model::LaneId lane) {
      const auto index = static_cast<std::size_t>(lane.value);
      return lane.valid() && index < catalog.lanes.size() ? catalog.lanes[index].device : model::DeviceId();
    };
    if (t.iteration != iteration) continue;
    const model::DeviceId from = owner(t.fromLane), to = owner(t.toLane);
    spans[from].push_back({at(t.start), at(t.end)});
    if (to != from) spans[to].push_back({at(t.start), at(t.end)});
  }
  double sum = 0;
  for (auto& [device, list] : spans) {
    if (!devices.contains(device)) continue;
    std::sort(list.begin(), list.end(), [](const Span& a, const Span& b) { return a.start < b.start; });
    double reached = -1e300;
    for (const Span& span : list) {
      sum += std::max(0.0, span.end - std::max(span.start, reached));
      reached = std::max(reached, span.end);
    }
  }
  return sum;
}

void addBubble(const RunRows& rows, const Catalog& catalog, StagesReport& report) {
  const std::set<model::DeviceId> devices = rows.devices();
  const double n = static_cast<double>(rows.iterations.size());
  for (std::size_t i = 0; i < rows.iterations.size(); ++i) {
    const Bubble bubble = bubbleOf(rows, i, devices);
    report.bubbleRampUp += bubble.rampUp / n;
    report.bubbleSteady += bubble.steady / n;
    report.bubbleRampDown += bubble.rampDown / n;
    const bool barrier = !rows.iterations[i].empty() && rows.iterations[i].front().slot >= 0;
    const Span whole = computeSpan(rows.iterations[i]);
    double exchange = bubble.exchange;
    if (barrier && whole.end > whole.start) {
      exchange += transferTicks(rows, catalog, static_cast<int>(i), devices) /
                  ((whole.end - whole.start) * static_cast<double>(devices.size()));
    }
    report.exchangeShareOfBubble += exchange / n;
  }
  report.bubbleFraction = report.bubbleRampUp + report.bubbleSteady + report.bubbleRampDown;
  report.exchangeShareOfBubble = std::min(report.exchangeShareOfBubble, report.bubbleFraction);
}

// --- Lost time, operations, memory -----------------------------------------------------

/// Stages behind a gap: nothing passes between them and the stage before (a second pipe begins there).
std::set<int> pipeStarts(const Catalog& catalog, const RunRows& rows) {
  std::set<int> starts;
  for (int s = 1; s < rows.stageCount(); ++s) starts.insert(s);
  for (const model::Boundary& b : catalog.boundaries) {
    if (b.executable == rows.executable->id) starts.erase(std::max(b.fromStage, b.toStage));
  }
  return starts;
}

void addLostTime(const RunRows& rows, const Catalog& catalog, StagesReport& report) {
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
  const bool oneAtATime =
      rows.executable->schedule == "sharded" || rows.executable->schedule == "tf-sequential";
  const Replay replay(rows.iterations.front(), rows.stageCount(), oneAtATime, pipeStarts(catalog, rows));
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

base::Status addOperations(const model::ProfileSource& source, const Catalog& catalog, const RunRows& rows,
                           StagesReport& report) {
  if (report.slowestStage < 0) return {};
  PIPESCOPE_ASSIGN(const model::Rows<model::Step> steps, source.rows<model::Step>());
  std::map<model::OperatorId, StageOperation> byOperator;
  const std::set<model::DeviceId> own = rows.devices();
  for (const model::Step& step : *steps) {
    const auto segment = static_cast<std::size_t>(step.segment.value),
               program = static_cast<std::size_t>(step.program.value);
    if (segment >= catalog.segments.size() || program >= catalog.programs.size()) continue;
    const model::Segment& owner = catalog.segments[segment];
    const model::OperatorId op = catalog.programs[program].op;
    if (owner.executable != rows.executable->id || owner.stage != report.slowestStage ||
        !own.contains(owner.device) || !model::isComputePass(owner.pass))
      continue;
    if (!op.valid() || static_cast<std::size_t>(op.value) >= catalog.operators.size()) continue;
    const model::Operator& described = catalog.operators[static_cast<std::size_t>(op.value)];
    StageOperation& sum = byOperator[op];
    sum.name = catalog.namePath(described.debugContext);
    sum.kind = described.kind;
    sum.pass = owner.pass;
    sum.ticksPerMicroBatch += static_cast<double>(step.ticks.count);
  }
  const double busy = report.stages[static_cast<std::size_t>(report.slowestStage)].busy;
  for (auto& [op, sum] : byOperator) {
    sum.share = busy > 0 ? sum.ticksPerMicroBatch / busy : 0;
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

base::Status addMemory(const model::ProfileSource& source, const Catalog& catalog, model::ExecutableId id,
                       StagesReport& report) {
  PIPESCOPE_ASSIGN(const Memory all, memory(source, catalog, id));
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
  return {};
}

}  // namespace

Result<StagesReport> stagesReport(const model::ProfileSource& source, const Catalog& catalog,
                                  model::ExecutableId id) {
  StagesReport report;
  PIPESCOPE_ASSIGN(const RunRows rows, loadRun(source, catalog, id));
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
  PIPESCOPE_TRY(addMemory(source, catalog, id, report));
  for (const model::Boundary& b : catalog.boundaries) {
    if (b.executable == id)
      report.boundaries.push_back({b.fromStage, b.toStage, b.kind, b.tensor, b.shape, b.bytes, b.ticks});
  }
  return report;
}

}  // namespace pipescope::analysis
