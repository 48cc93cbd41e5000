#include "engine/plan/stage_table.h"

#include <algorithm>

#include "engine/devices/fixed/fixed_system.h"
#include "engine/plan/emulated_time.h"

namespace pipescope::plan {
namespace {

std::size_t endOf(const Cuts& cuts, std::size_t stage, std::size_t units) {
  return stage + 1 < cuts.size() ? cuts[stage + 1] : units;
}

}  // namespace

StageTable::Passes StageTable::sumOf(std::size_t stage, std::size_t first, std::size_t end) const {
  const compile::SplitProblem& problem = splits_.problem();
  Passes sum;
  for (std::size_t u = first; u < end; ++u) {
    sum.forward += static_cast<double>(splits_.forward()[u]);
    sum.backward += static_cast<double>(problem.cost[u] - splits_.forward()[u]);
    if (problem.recomputes[stage]) sum.recompute += static_cast<double>(problem.again[u]);
  }
  return sum;
}

StageTable::Passes StageTable::passesOf(std::size_t stage, std::size_t first, std::size_t end) const {
  if (const auto known = known_.find(rangeOf(stage, first, end)); known != known_.end()) return known->second;
  Passes passes = sumOf(stage, first, end);
  const Passes& error = errors_[stage];
  passes.forward = std::max(0.0, passes.forward + error.forward);
  passes.recompute = std::max(0.0, passes.recompute + error.recompute);
  passes.backward = std::max(0.0, passes.backward + error.backward);
  return passes;
}

void StageTable::learn(const TriedPlan& tried) {
  const std::size_t units = splits_.problem().units();
  for (std::size_t s = 0; s < tried.stages.size(); ++s) {
    const TriedStage& stage = tried.stages[s];
    const std::size_t first = tried.cuts[s], end = endOf(tried.cuts, s, units);
    // Host copies run with the pass of the input or output that they carry.
    const Passes passes{static_cast<double>(stage.forward + stage.host), static_cast<double>(stage.recompute),
                        static_cast<double>(stage.backward)};
    known_[rangeOf(s, first, end)] = passes;
    missing_[{s, first, end}] = stage.missing;
    const Passes sum = sumOf(s, first, end);
    errors_[s] = {passes.forward - sum.forward, passes.recompute - sum.recompute,
                  passes.backward - sum.backward};
  }
}

/// A stage lacks at least what a part of it lacks in the same place or in a later one, which stashes less.
std::int64_t StageTable::missingOf(std::size_t stage, std::size_t first, std::size_t end) const {
  std::int64_t missing = 0;
  for (const auto& [place, bytes] : missing_) {
    const auto& [knownStage, knownFirst, knownEnd] = place;
    const bool same = knownStage == stage && knownFirst == first && knownEnd == end;
    if (same) return bytes;
    if (knownStage >= stage && knownFirst >= first && knownEnd <= end) missing = std::max(missing, bytes);
  }
  return missing;
}

compile::FixedRun StageTable::runOf(const std::vector<Passes>& stages, const Cuts& cuts) const {
  const compile::SplitProblem& problem = splits_.problem();
  const compile::ExecutableRequest& executable = request_.executables.front();
  compile::FixedRun run;
  run.schedule = compile::scheduleOf(request_.layout);
  run.training = executable.kind == model::ExecutableKind::training;
  run.microBatches = static_cast<int>(run.training ? executable.microBatches : executable.deviceIterations);
  const schedules::ScheduleDefinition* schedule = *schedules::findSchedule(run.schedule);
  if (schedule->pipes == 1) run.deviceOfStage = compile::devicesOfSplit(problem, cuts);
  // A unit is a million ticks. A byte that is sent takes one tick.
  constexpr auto kTicks = static_cast<double>(devices::kFixedTicksPerUnit);
  run.bandwidth = kTicks;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    compile::FixedRun::Stage stage;
    stage.forward = stages[s].forward / kTicks;
    stage.recompute = stages[s].recompute / kTicks;
    stage.backward = stages[s].backward / kTicks;
    if (s + 1 < stages.size()) stage.sends = problem.exchange[s + 1][cuts[s + 1]] / (run.training ? 2 : 1);
    run.stages.push_back(stage);
  }
  return run;
}

std::optional<Value> StageTable::estimate(const Cuts& cuts) const {
  const compile::SplitProblem& problem = splits_.problem();
  std::vector<Passes> stages;
  Value value;
  for (std::size_t s = 0; s < cuts.size(); ++s) {
    const std::size_t end = endOf(cuts, s, problem.units());
    if (std::find(problem.works.begin() + static_cast<std::ptrdiff_t>(cuts[s]),
                  problem.works.begin() + static_cast<std::ptrdiff_t>(end),
                  true) == problem.works.begin() + static_cast<std::ptrdiff_t>(end))
      return std::nullopt;
    stages.push_back(passesOf(s, cuts[s], end));
    value.missing = std::max(value.missing, missingOf(s, cuts[s], end));
  }
  const base::Result<base::Ticks> ticks = callTicks(runOf(stages, cuts));
  if (!ticks.ok()) return std::nullopt;
  value.time = ticks->count;
  return value;
}

Value StageTable::bound(const Cuts& cuts) const {
  const compile::ExecutableRequest& executable = request_.executables.front();
  const bool training = executable.kind == model::ExecutableKind::training;
  const auto microBatches =
      static_cast<double>(training ? executable.microBatches : executable.deviceIterations);
  // With two pipes, each has half of the micro-batches.
  const schedules::ScheduleDefinition* schedule =
      *schedules::findSchedule(compile::scheduleOf(request_.layout));
  Value value;
  for (std::size_t s = 0; s < cuts.size(); ++s) {
    const std::size_t end = endOf(cuts, s, splits_.problem().units());
    const Passes passes = passesOf(s, cuts[s], end);
    const double time = passes.forward + (training ? passes.recompute + passes.backward : 0);
    value.time = std::max(value.time, static_cast<std::int64_t>(time * microBatches / schedule->pipes));
    value.missing = std::max(value.missing, missingOf(s, cuts[s], end));
  }
  return value;
}

std::int64_t StageTable::balanced(const Cuts& cuts) const {
  Passes mean;
  for (std::size_t s = 0; s < cuts.size(); ++s) {
    const Passes passes = passesOf(s, cuts[s], endOf(cuts, s, splits_.problem().units()));
    mean.forward += passes.forward;
    mean.recompute += passes.recompute;
    mean.backward += passes.backward;
  }
  const auto count = static_cast<double>(cuts.size());
  const std::vector<Passes> stages(cuts.size(),
                                   {mean.forward / count, mean.recompute / count, mean.backward / count});
  const base::Result<base::Ticks> ticks = callTicks(runOf(stages, cuts));
  return ticks.ok() ? ticks->count : 0;
}

}  // namespace pipescope::plan
