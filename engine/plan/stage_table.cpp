#include "engine/plan/stage_table.h"

#include <algorithm>
#include <cmath>

#include "engine/devices/fixed/fixed_system.h"
#include "engine/plan/emulated_time.h"

namespace pipescope::plan {
namespace {

std::size_t endOf(const Cuts& cuts, std::size_t stage, std::size_t units) {
  return stage + 1 < cuts.size() ? cuts[stage + 1] : units;
}

}  // namespace

StageTable::StageTable(const StageSplits& splits, const compile::ModelRequest& request)
    : splits_(splits), request_(request), memory_(splits.problem().stages()), errors_(memory_.size()) {
  const SplitProblem& problem = splits.problem();
  forward_.assign(problem.units() + 1, 0);
  backward_ = again_ = forward_;
  for (std::size_t u = 0; u < problem.units(); ++u) {
    forward_[u + 1] = forward_[u] + static_cast<double>(splits.forward()[u]);
    backward_[u + 1] = backward_[u] + static_cast<double>(problem.cost[u] - splits.forward()[u]);
    again_[u + 1] = again_[u] + static_cast<double>(problem.again[u]);
  }
}

StageTable::Passes StageTable::sumOf(std::size_t stage, std::size_t first, std::size_t end) const {
  const bool again = splits_.problem().recomputes[stage];
  return {forward_[end] - forward_[first], again ? again_[end] - again_[first] : 0,
          backward_[end] - backward_[first]};
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
    memory_[s][{first, end}] = {workOf(first, end), stage.used, stage.room, stage.missing};
    allWork_ += workOf(first, end);
    allUsed_ += static_cast<double>(stage.used);
    const Passes sum = sumOf(s, first, end);
    errors_[s] = {passes.forward - sum.forward, passes.recompute - sum.recompute,
                  passes.backward - sum.backward};
  }
}

void StageTable::learnStages(const Cuts& cuts, const std::vector<std::int64_t>& ticks) {
  for (std::size_t s = 0; s < cuts.size(); ++s) {
    const std::size_t end = endOf(cuts, s, splits_.problem().units());
    const Passes sum = sumOf(s, cuts[s], end);
    const double all = sum.forward + sum.recompute + sum.backward;
    const double factor = all > 0 ? static_cast<double>(ticks[s]) / all : 1;
    const Passes passes{factor * sum.forward, factor * sum.recompute, factor * sum.backward};
    known_[rangeOf(s, cuts[s], end)] = passes;
    errors_[s] = {passes.forward - sum.forward, passes.recompute - sum.recompute,
                  passes.backward - sum.backward};
  }
}

std::int64_t StageTable::missingOf(std::size_t stage, std::size_t first, std::size_t end) const {
  if (const auto known = memory_[stage].find({first, end}); known != memory_[stage].end())
    return known->second.missing;
  // Stages of other places stash more or less, so those of this place count, and of these the nearest work.
  const double work = workOf(first, end);
  const Memory* like = nullptr;
  for (const auto& [range, memory] : memory_[stage]) {
    if (like == nullptr || std::abs(memory.work - work) < std::abs(like->work - work)) like = &memory;
  }
  if (like == nullptr || allWork_ <= 0) return 0;
  // Weights and what is kept of activations grow with the work. The rest, such as code and what one operator
  // needs at once, does not.
  constexpr double kShareThatGrows = 0.5;
  const double used =
      static_cast<double>(like->used) + kShareThatGrows * allUsed_ / allWork_ * (work - like->work);
  return std::max<std::int64_t>(0, static_cast<std::int64_t>(used) - like->room);
}

compile::FixedRun StageTable::runOf(const std::vector<Passes>& stages, const Cuts& cuts) const {
  const SplitProblem& problem = splits_.problem();
  const compile::ExecutableRequest& executable = request_.executables.front();
  compile::FixedRun run;
  run.schedule = compile::scheduleOf(request_.layout);
  run.training = executable.kind == model::ExecutableKind::training;
  run.microBatches = static_cast<int>(run.training ? executable.microBatches : executable.deviceIterations);
  run.microBatchCosts = executable.microBatchCosts;
  const schedules::ScheduleDefinition* schedule = *schedules::findSchedule(run.schedule);
  if (schedule->pipes == 1) run.placeOfStage = placesOfSplit(problem, cuts);
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
  const SplitProblem& problem = splits_.problem();
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
  auto microBatches = static_cast<double>(training ? executable.microBatches : executable.deviceIterations);
  if (training && !executable.microBatchCosts.empty()) {
    const std::vector<double>& costs = executable.microBatchCosts;
    microBatches = 0;
    for (std::size_t k = 0; k < static_cast<std::size_t>(executable.microBatches); ++k)
      microBatches += costs[k % costs.size()];
  }
  // Each of several pipes has an equal share of the micro-batches.
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
