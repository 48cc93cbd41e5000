#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "profiler/analysis/pva/profile.h"
#include "profiler/analysis/rows_of_run.h"

namespace pipescope::pva {

Program ExecutionStep::program() const {
  return Program(profile_, step_.program.value);
}

StepIpu ExecutionStep::ipu() const {
  StepIpu ipu;
  ipu.ipu = profile_->ipuOf(placement_.device);
  ipu.cycles = step_.ticks.count;
  ipu.cyclesFrom = (placement_.start + step_.offset).count;
  ipu.cyclesTo = ipu.cyclesFrom + ipu.cycles;
  ipu.activeTiles = step_.activeUnits;
  if (step_.maxTicks.count > 0) ipu.tileBalance = step_.meanTicks / static_cast<double>(step_.maxTicks.count);
  ipu.dataIn = step_.bytesIn.count;
  ipu.dataOut = step_.bytesOut.count;
  return ipu;
}

std::vector<Run> Execution::runs() const {
  std::vector<Run> runs;
  const auto clock = static_cast<double>(profile_->catalog->timebase({}).ticksPerSecond) * 1e-6;
  for (const model::Run* row : profile_->catalog->runsOf(executable_)) {
    runs.push_back({row->id.value, row->name, row->start.count, row->end.count,
                    static_cast<double>(row->start.count) / clock,
                    static_cast<double>(row->end.count) / clock, row->samples});
  }
  return runs;
}

std::int64_t Execution::totalCycles() const {
  model::Ticks total;
  for (const model::Run* row : profile_->catalog->runsOf(executable_)) total += row->end - row->start;
  return total.count;
}

base::Status Execution::forEachStep(std::int64_t run,
                                    const std::function<bool(const ExecutionStep&)>& visit) const {
  const std::vector<const model::Run*> runs = profile_->catalog->runsOf(executable_);
  const auto found =
      std::find_if(runs.begin(), runs.end(), [&](const auto* row) { return row->id.value == run; });
  if (found == runs.end()) return base::badInput(fmt::format("The executable has no run {}.", run));
  PIPESCOPE_ASSIGN(const auto placements, analysis::rowsOfRun<model::Placement>(*profile_->source, **found));
  std::unordered_map<std::int64_t, std::vector<model::Step>> steps;
  for (const model::Placement& row : placements) steps[row.segment.value];
  PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> blocks, profile_->source->blocks<model::Step>());
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    PIPESCOPE_ASSIGN(const model::Rows<model::Step> rows, profile_->source->block<model::Step>(b));
    for (const model::Step& row : *rows) {
      if (const auto segment = steps.find(row.segment.value); segment != steps.end())
        segment->second.push_back(row);
    }
  }
  ExecutionStep step;
  step.profile_ = profile_;
  for (const model::Placement& placement : placements) {
    step.placement_ = placement;
    for (const model::Step& row : steps[placement.segment.value]) {
      step.step_ = row;
      if (!visit(step)) return {};
    }
  }
  return {};
}

Result<std::vector<ExecutionStep>> Execution::steps(std::int64_t run, std::size_t most) const {
  std::vector<ExecutionStep> all;
  bool tooMany = false;
  PIPESCOPE_TRY(forEachStep(run, [&](const ExecutionStep& step) {
    tooMany = all.size() >= most;
    if (!tooMany) all.push_back(step);
    return !tooMany;
  }));
  if (tooMany)
    return base::badInput(fmt::format(
        "Run {} has more than {} steps; walk them with forEachStep, or ask for a window.", run, most));
  return all;
}

}  // namespace pipescope::pva
