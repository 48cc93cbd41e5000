#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "profiler/analysis/pva/profile.h"
#include "profiler/analysis/rows_of_run.h"
#include "profiler/analysis/timeline/range.h"

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
    return base::badInput(
        fmt::format("Run {} has more than {} steps; ask for a window of it instead.", run, most));
  return all;
}

Result<std::vector<WindowSpan>> Execution::window(std::int64_t cyclesFrom, std::int64_t cyclesTo,
                                                  std::int64_t resolution) const {
  if (cyclesTo < cyclesFrom || resolution < 0)
    return base::badInput(fmt::format(
        "A window from {} to {} with resolution {} does not exist. Give an end after the start, and a "
        "resolution of 0 or more.",
        cyclesFrom, cyclesTo, resolution));
  const analysis::Catalog& catalog = *profile_->catalog;
  PIPESCOPE_ASSIGN(const auto index, analysis::RangeIndex::make(profile_->source, profile_->catalog));
  base::SilentProgress progress;
  const analysis::RangeRequest range{executable_, model::Ticks(cyclesFrom), model::Ticks(cyclesTo), {}};
  PIPESCOPE_ASSIGN(const auto found, index->steps(range, model::Ticks(resolution), progress));
  std::vector<WindowSpan> spans;
  spans.reserve(found.size());
  for (const analysis::StepSpan& span : found) {
    const model::DeviceId device = catalog.deviceOf(span.lane);
    spans.push_back({device.valid() ? profile_->ipuOf(device) : -1, model::laneKey(catalog.roleOf(span.lane)),
                     model::toString(span.kind), catalog.programPath(span.program), span.start.count,
                     span.end.count, span.steps});
  }
  return spans;
}

}  // namespace pipescope::pva
