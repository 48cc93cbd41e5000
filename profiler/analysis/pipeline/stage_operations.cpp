#include "profiler/analysis/pipeline/stage_operations.h"

#include <algorithm>
#include <map>

#include "profiler/analysis/block_walk.h"
#include "profiler/analysis/pipeline/stages.h"

namespace pipescope::analysis {
namespace {

constexpr std::size_t kMostOperations = 10;

/// The stage of each segment in which a stage of the first replica computes.
std::map<model::SegmentId, int> computeSegments(const Catalog& catalog, const ReplicaRows& rows) {
  std::map<model::SegmentId, int> found;
  const std::set<model::DeviceId> own = rows.devices();
  for (const model::Segment& segment : catalog.segments) {
    if (segment.executable == rows.executable->id && segment.stage >= 0 &&
        segment.stage < rows.stageCount() && own.contains(segment.device) &&
        model::isComputePass(segment.pass))
      found.emplace(segment.id, segment.stage);
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
  add("exchange with other stages", "global exchange", "exchange", stage.exchange);
}

}  // namespace

base::Status addStageOperations(const model::ProfileSource& source, const Catalog& catalog,
                                const ReplicaRows& rows, std::vector<StageReport>& stages) {
  if (rows.run == nullptr) return {};
  const std::map<model::SegmentId, int> wanted = computeSegments(catalog, rows);
  std::map<std::pair<int, model::OperatorId>, double> ticks;
  PIPESCOPE_TRY(forAllRows<model::Step>(source, [&](const model::Step& step) {
    const auto stage = wanted.find(step.segment);
    if (stage == wanted.end()) return;
    const model::OperatorId op = catalog.programs[step.program].op;
    if (catalog.operators.contains(op)) ticks[{stage->second, op}] += static_cast<double>(step.ticks.count);
  }));
  for (const auto& [key, sum] : ticks) {
    const model::Operator described = catalog.operators[key.second];
    stages[static_cast<std::size_t>(key.first)].operations.push_back(
        {catalog.namePath(described.debugContext), described.kind, model::toString(described.pass), sum, 0});
  }
  for (StageReport& stage : stages) {
    addCopies(stage);
    std::ranges::stable_sort(stage.operations, std::ranges::greater(), &StageOperation::ticksPerMicroBatch);
    if (stage.operations.size() > kMostOperations) stage.operations.resize(kMostOperations);
    for (StageOperation& row : stage.operations)
      row.share = stage.occupied > 0 ? row.ticksPerMicroBatch / stage.occupied : 0;
  }
  return {};
}

}  // namespace pipescope::analysis
