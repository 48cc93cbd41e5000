#include "profiler/analysis/pipeline/replica_rows.h"

#include <algorithm>

#include "profiler/analysis/rows_of_run.h"

namespace pipescope::analysis {

std::set<model::DeviceId> ReplicaRows::devices() const {
  std::set<model::DeviceId> found;
  for (const model::Stage* stage : stages) found.insert(stage->device);
  return found;
}

Result<ReplicaRows> replicaRows(const model::ProfileSource& source, const Catalog& catalog,
                                model::ExecutableId id) {
  ReplicaRows rows;
  rows.executable = catalog.executable(id);
  rows.run = catalog.lastRunOf(id);
  rows.stages = catalog.stagesOf(id);
  if (rows.run == nullptr) return rows;
  PIPESCOPE_ASSIGN(rows.placements, rowsOfRun<model::Placement>(source, *rows.run));
  PIPESCOPE_ASSIGN(rows.waits, rowsOfRun<model::Wait>(source, *rows.run));
  // Transfers run beside the passes if passes start as soon as their inputs are there. No figure needs them
  // then.
  if (rows.executable == nullptr || rows.executable->scheduleKind != model::ScheduleKind::dependency) {
    PIPESCOPE_ASSIGN(rows.transfers, rowsOfRun<model::Transfer>(source, *rows.run));
  }
  rows.spans = iterationsOf(catalog, rows.placements, *rows.run);
  if (catalog.measured()) {
    for (const model::Placement& p : rows.placements) {
      if (p.stage < 0 || p.iteration < 0 || !model::isComputePass(p.pass)) continue;
      ReplicaTime& time = rows.times[{p.stage, p.replica}];
      time.device = p.device;
      time.ticks += static_cast<double>((p.end - p.start).count);
    }
  }
  // The other figures are of the first replica. The profile records further replicas if they are slower.
  const std::set<model::DeviceId> own = rows.devices();
  std::erase_if(rows.placements, [](const model::Placement& p) { return p.replica != 0; });
  std::erase_if(rows.waits, [&](const model::Wait& wait) { return !own.contains(wait.device); });
  std::vector<model::Placement>& all = rows.placements;
  if (!std::ranges::is_sorted(all, {}, &model::Placement::iteration))
    std::ranges::stable_sort(all, {}, &model::Placement::iteration);
  for (auto first = all.begin(); first != all.end();) {
    const auto last =
        std::upper_bound(first, all.end(), first->iteration,
                         [](int iteration, const model::Placement& p) { return iteration < p.iteration; });
    if (first->iteration >= 0) rows.iterations[first->iteration] = std::span(first, last);
    first = last;
  }
  return rows;
}

double TimeSpan::overlap(double a, double b) const {
  return std::max(0.0, std::min(end, b) - std::max(start, a));
}

void TimeSpan::widen(const model::Placement& placement) {
  start = std::min(start, static_cast<double>(placement.start.count));
  end = std::max(end, static_cast<double>(placement.end.count));
}

TimeSpan flushOf(std::span<const model::Placement> iteration) {
  TimeSpan span;
  for (const model::Placement& p : iteration) {
    if (model::isComputePass(p.pass)) span.widen(p);
  }
  return span;
}

}  // namespace pipescope::analysis
