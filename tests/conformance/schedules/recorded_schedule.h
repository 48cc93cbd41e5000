#pragma once
// Emulates a schedule with given costs into a profile.pop and reads that file.
#include <memory>
#include <string>
#include <vector>

#include "app/run/request/schedule_table.h"
#include "engine/compiler/fixed_compiler.h"
#include "engine/compiler/record_compilation.h"
#include "profiler/analysis/catalog.h"

namespace pipescope::tests {

struct RecordedSchedule {
  std::shared_ptr<model::ProfileSource> file;
  std::shared_ptr<const analysis::Catalog> catalog;
  std::vector<model::Placement> placements;
  std::vector<model::Wait> waits;
  std::vector<model::Transfer> transfers;
  model::ExecutableId executable;
  const model::Run& run() const { return catalog->runs.back(); }
};

/// Any error fails the test.
RecordedSchedule record(const compile::FixedRun& run, int calls = 1);
/// The same without a file.
RecordedSchedule recordInMemory(const compile::FixedRun& run, int calls = 1);
/// Makes a run with as many stages on each of `devices` devices as the schedule wants. Costs are those of a
/// stage; weight gradients take half of the backward pass.
compile::FixedRun laidOutRun(const std::string& schedule, int devices, int microBatches,
                             const std::vector<double>& forward, const std::vector<double>& backward);
compile::FixedRun fixedRun(const std::string& schedule, int microBatches, const std::vector<double>& forward,
                           const std::vector<double>& backward);
/// The schedule as `pipescope schedule` shows it; a failure fails the test.
app::ScheduleTable tableOf(const compile::FixedRun& run);
/// Ticks as cost units.
double units(base::Ticks ticks);
/// Units from the start of the first compute placement to the end of the last.
double computeSpan(const RecordedSchedule& recorded);

}  // namespace pipescope::tests
