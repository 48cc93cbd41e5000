#include "profiler/analysis/pipeline/stage_operations.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "profiler/analysis/block_walk.h"
#include "profiler/analysis/pipeline/stages.h"
#include "profiler/analysis/step_operators.h"

namespace pipescope::analysis {
namespace {

constexpr std::size_t kMostOperations = 10;

/// A segment in which a stage of the first replica computes.
struct StageSegment {
  int stage = 0;
  model::Pass pass = model::Pass::forward;
  double runs = 0;  ///< runs per micro-batch
  Ticks length;
  // Steps come in the order of their offsets.
  Ticks last, reached, working;  ///< offset of the last step, end of those so far, time with a step
  bool known = false;            ///< it has steps, in this order

  void add(const model::Step& step) {
    known = step.offset >= last && (known || last.count == 0);
    last = std::max(last, step.offset);
    if (step.kind == model::StepKind::control) return;
    const Ticks end = std::min(step.offset + step.ticks, length);
    working += std::max(Ticks(0), end - std::max(step.offset, reached));
    reached = std::max(reached, end);
  }
  /// Time in which the device waits for a launch, per micro-batch.
  double launching() const { return known ? runs * static_cast<double>((length - working).count) : 0; }
};

std::map<model::SegmentId, StageSegment> computeSegments(const Catalog& catalog, const ReplicaRows& rows,
                                                         std::size_t stages) {
  std::map<model::SegmentId, double> times;
  for (const model::Placement& p : rows.placements) times[p.segment] += 1;
  const double microBatches =
      static_cast<double>(std::max<std::size_t>(rows.iterations.size(), 1)) *
      static_cast<double>(std::max<std::int64_t>(catalog.microBatchesOfStage(rows.executable->id), 1));
  std::map<model::SegmentId, StageSegment> found;
  const std::set<model::DeviceId> own = rows.devices();
  for (const model::Segment& segment : catalog.segments) {
    if (segment.executable == rows.executable->id && segment.stage >= 0 &&
        static_cast<std::size_t>(segment.stage) < stages && own.contains(segment.device) &&
        model::isComputePass(segment.pass))
      found[segment.id] = {
          segment.stage, segment.pass, times[segment.id] / microBatches, segment.ticks, {}, {}, {}, false};
  }
  return found;
}

void addCopies(StageReport& stage) {
  const auto add = [&](const char* name, const char* kind, const char* pass, double ticks) {
    if (ticks > 0) stage.operations.push_back({name, kind, pass, ticks, 0});
  };
  add("copies from the host", "stream copy", "host in", stage.hostIn);
  add("copies to the host", "stream copy", "host out", stage.hostOut);
  add("loads and stores of remote buffers", "remote copy", "remote", stage.remote);
  add("collectives within passes", "collective", "collective", stage.collective);
  add("exchange with other stages", "global exchange", "exchange", stage.exchange);
}

}  // namespace

base::Status addStageOperations(const model::ProfileSource& source, const Catalog& catalog,
                                const ReplicaRows& rows, std::vector<StageReport>& stages) {
  if (rows.run == nullptr) return {};
  std::map<model::SegmentId, StageSegment> wanted = computeSegments(catalog, rows, stages.size());
  using Key = std::tuple<int, model::OperatorId, model::Pass>;
  std::map<Key, double> ticks;
  StepOperators operators(source, catalog, rows.executable->id);
  PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> blocks, source.blocks<model::Step>());
  // The steps of a segment follow each other, and so do those of an operator.
  auto found = wanted.end();
  std::pair<Key, double*> last{{}, nullptr};
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    PIPESCOPE_ASSIGN(const model::Rows<model::Step> steps, source.block<model::Step>(b));
    for (const model::Step& step : *steps) {
      if (found == wanted.end() || found->first != step.segment) found = wanted.find(step.segment);
      if (found == wanted.end()) continue;
      found->second.add(step);
      PIPESCOPE_ASSIGN(const StepOperators::Found op, operators.of(step.program));
      if (!catalog.operators.contains(op.id)) continue;
      const Key key{found->second.stage, op.id, found->second.pass};
      if (last.second == nullptr || last.first != key) last = {key, &ticks[key]};
      *last.second += found->second.runs * static_cast<double>(step.ticks.count);
    }
  }
  std::map<int, double> launching;
  for (const auto& [id, segment] : wanted) launching[segment.stage] += segment.launching();

  for (const auto& [key, sum] : ticks) {
    const auto& [stage, op, pass] = key;
    const model::Operator described = catalog.operators[op];
    StageReport& report = stages[static_cast<std::size_t>(stage)];
    report.ticksOfKinds[described.kind] += sum;
    report.operations.push_back(
        {catalog.namePath(described.debugContext), described.kind, model::toString(pass), sum, 0});
  }
  for (StageReport& stage : stages) {
    addCopies(stage);
    if (launching[stage.index] > 0)
      stage.operations.push_back(
          {"launches, while no kernel runs", "control", "launch", launching[stage.index], 0});
    std::ranges::stable_sort(stage.operations, std::ranges::greater(), &StageOperation::ticksPerMicroBatch);
    if (stage.operations.size() > kMostOperations) stage.operations.resize(kMostOperations);
    for (StageOperation& row : stage.operations)
      row.share = stage.occupied > 0 ? row.ticksPerMicroBatch / stage.occupied : 0;
  }
  return {};
}

}  // namespace pipescope::analysis
