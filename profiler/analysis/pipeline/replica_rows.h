#pragma once
// The rows of the first replica in an executable's last run, for the report on stages.
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "profiler/analysis/catalog.h"
#include "profiler/analysis/iterations.h"

namespace pipescope::analysis {

/// Computation of a replica of a stage over the run.
struct ReplicaTime {
  model::DeviceId device;
  double ticks = 0;
};

struct ReplicaRows {
  ReplicaRows() = default;
  ReplicaRows(ReplicaRows&&) = default;  // A copy would refer to the placements of the original.
  ReplicaRows& operator=(ReplicaRows&&) = default;

  const model::Executable* executable = nullptr;
  const model::Run* run = nullptr;
  std::vector<const model::Stage*> stages;
  std::vector<model::Placement> placements;  ///< sorted by iteration, else in the order of recording
  std::vector<model::Wait> waits;
  std::vector<model::Transfer> transfers;                       ///< empty for schedules without barriers
  std::map<int, std::span<const model::Placement>> iterations;  ///< parts of `placements`, by iteration
  std::vector<IterationSpan> spans;                             ///< times of the iterations, sorted by start
  /// Computation of the stages of all replicas of a recorded run, by stage and replica.
  std::map<std::pair<int, int>, ReplicaTime> times;

  int stageCount() const { return static_cast<int>(stages.size()); }
  std::set<model::DeviceId> devices() const;
};

/// An executable that has not run gives its stages and no rows.
Result<ReplicaRows> replicaRows(const model::ProfileSource& source, const Catalog& catalog,
                                model::ExecutableId executable);

/// A stretch of time in ticks.
struct TimeSpan {
  double start = 1e300, end = -1e300;
  bool empty() const { return end <= start; }
  double length() const { return empty() ? 0 : end - start; }
  double overlap(double a, double b) const;
  void widen(const model::Placement& placement);
};

/// The flush of an iteration: from the first forward's start to the last backward's end (inference: the last
/// forward's).
TimeSpan flushOf(std::span<const model::Placement> iteration);

}  // namespace pipescope::analysis
