#include "engine/plan/cost_problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/plan/emulated_time.h"

namespace pipescope::plan {
namespace {

constexpr double kNsPerMs = 1e6;

std::vector<std::int64_t> sumsBefore(const std::vector<std::int64_t>& each) {
  std::vector<std::int64_t> sums(each.size() + 1, 0);
  for (std::size_t i = 0; i < each.size(); ++i) sums[i + 1] = sums[i] + each[i];
  return sums;
}

base::Status checkSize(const LayerProfile& profile, const CostRequest& request) {
  const std::size_t layers = profile.layers.size();
  constexpr std::size_t kMostLayers = 20'000;
  if (layers > kMostLayers) {
    return base::badInput(fmt::format(
        "The profile has {} layers, but a plan takes at most {}: join layers that belong together.", layers,
        kMostLayers));
  }
  if (static_cast<std::size_t>(request.stages) > layers) {
    return base::badInput(
        fmt::format("{} stages need at least as many layers, but the profile has {}: use fewer stages.",
                    request.stages, layers));
  }
  double ms = 0, bytes = 0;
  for (const Layer& layer : profile.layers) {
    ms += layer.forwardMs + layer.backwardMs;
    bytes += layer.activationBytes + layer.parameterBytes;
  }
  constexpr double kMostMs = 1e12, kMostBytes = 1e15;
  if (ms * std::max(1, request.microBatches) > kMostMs || bytes * request.stages > kMostBytes) {
    return base::badInput(
        fmt::format("The layers take {:g} ms and {:g} bytes together, which is more than a plan can count: "
                    "times are in milliseconds and sizes in bytes.",
                    ms, bytes));
  }
  return {};
}

}  // namespace

base::Result<CostProblem> costProblem(const LayerProfile& profile, const CostRequest& request) {
  PIPESCOPE_TRY(checkSize(profile, request));
  CostProblem problem;
  problem.request = request;
  for (const Layer& layer : profile.layers) {
    problem.forward.push_back(std::llround(layer.forwardMs * kNsPerMs));
    problem.backward.push_back(std::llround(layer.backwardMs * kNsPerMs));
    problem.activations.push_back(std::llround(layer.activationBytes));
    problem.parameters.push_back(std::llround(layer.parameterBytes));
  }
  for (const double bytes : crossingBytes(profile)) problem.crossing.push_back(std::llround(bytes));
  return problem;
}

base::Result<CostModel> CostModel::make(const CostProblem& problem) {
  CostModel model(problem);
  model.forward_ = sumsBefore(problem.forward);
  model.backward_ = sumsBefore(problem.backward);
  model.activations_ = sumsBefore(problem.activations);
  model.parameters_ = sumsBefore(problem.parameters);
  PIPESCOPE_TRY(model.laySchedule());
  return model;
}

base::Status CostModel::laySchedule() {
  const CostRequest& request = problem_.request;
  if (request.microBatches == 0) {
    // A stream through 1F1B: stage s of N holds N − s micro-batches.
    for (int s = 0; s < request.stages; ++s) {
      placeOfStage_.push_back(s);
      held_.push_back(request.stages - s);
    }
    devices_ = placeOfStage_.size();
    return {};
  }
  PIPESCOPE_ASSIGN(const schedules::ScheduleDefinition* schedule, schedules::findSchedule(request.schedule));
  pipes_ = schedule->pipes;
  schedules::Shape shape;
  shape.stages = request.stages * pipes_;
  shape.microBatches = request.microBatches;
  PIPESCOPE_ASSIGN(shape.placeOfStage, schedules::layOut(*schedule, shape.stages, request.chunks));
  PIPESCOPE_ASSIGN(const schedules::Order order, schedules::makeOrder(request.schedule, shape));
  placeOfStage_ = shape.placeOfStage;
  devices_ = static_cast<std::size_t>(schedules::placeCount(shape));
  splitsBackward_ = order.splitBackward;
  for (const std::int64_t entries : order.stashEntries) held_.push_back(std::max<std::int64_t>(1, entries));
  for (const std::vector<schedules::Task>& tasks : order.places) heldTogether_.push_back(heldBy(tasks));
  return {};
}

/// The stages of one device hold most at different times, so what a device needs is the largest sum at one
/// time. Moments at which every stage holds no more than at another one are left out.
std::vector<CostModel::Moment> CostModel::heldBy(const std::vector<schedules::Task>& tasks) const {
  const model::Pass last = splitsBackward_ ? model::Pass::weightGradient : model::Pass::backward;
  Moment now;
  std::vector<Moment> most;
  const auto covers = [](const Moment& more, const Moment& less) {
    return std::ranges::all_of(less, [&](const auto& held) {
      const auto found = more.find(held.first);
      return found != more.end() && found->second >= held.second;
    });
  };
  for (const schedules::Task& task : tasks) {
    const auto stage = static_cast<std::size_t>(task.stage);
    if (task.pass == last) --now[stage];
    if (task.pass != model::Pass::forward) continue;
    ++now[stage];
    if (std::ranges::any_of(most, [&](const Moment& other) { return covers(other, now); })) continue;
    std::erase_if(most, [&](const Moment& other) { return covers(now, other); });
    most.push_back(now);
  }
  // A stage that is alone needs what its stash holds.
  if (now.size() <= 1) return {};
  return most;
}

/// Nanoseconds of one copy, in one direction. It rounds like system `fixed`.
std::int64_t CostModel::exchangeTicks(std::size_t cut) const {
  if (problem_.request.bandwidth <= 0) return 0;
  const double bytesPerMs = problem_.request.bandwidth / 1e3;
  return std::llround(static_cast<double>(problem_.crossing[cut]) / bytesPerMs * kNsPerMs);
}

StageCost CostModel::stage(std::size_t index, std::size_t first, std::size_t end) const {
  StageCost stage;
  stage.first = first;
  stage.count = end - first;
  stage.place = placeOfStage_[index];
  stage.forward = forward_[end] - forward_[first];
  stage.backward = backward_[end] - backward_[first];
  stage.activations = activations_[end] - activations_[first];
  stage.parameters = parameters_[end] - parameters_[first];
  stage.sends = end < problem_.layers() ? problem_.crossing[end] : 0;
  stage.exchange = 2 * exchangeTicks(first) + 2 * exchangeTicks(end);
  stage.held = held_[index];
  return stage;
}

std::vector<StageCost> CostModel::stages(const Cuts& cuts) const {
  std::vector<StageCost> all;
  for (std::size_t s = 0; s < cuts.size(); ++s)
    all.push_back(stage(s, cuts[s], s + 1 < cuts.size() ? cuts[s + 1] : problem_.layers()));
  return all;
}

std::int64_t CostModel::missing(const std::vector<StageCost>& stages) const {
  if (problem_.request.memory <= 0) return 0;
  const auto ofStage = [&](std::size_t s, std::int64_t held) {
    StageCost stage = stages[s % stages.size()];
    stage.held = held;
    return stage.memory();
  };
  std::vector<std::int64_t> used(devices_, 0);
  for (std::size_t s = 0; s < placeOfStage_.size(); ++s) {
    const auto device = static_cast<std::size_t>(placeOfStage_[s]);
    const bool alone = device >= heldTogether_.size() || heldTogether_[device].empty();
    used[device] += ofStage(s, alone ? held_[s] : 0);
  }
  std::int64_t most = *std::ranges::max_element(used);
  for (std::size_t device = 0; device < heldTogether_.size(); ++device) {
    for (const Moment& moment : heldTogether_[device]) {
      std::int64_t sum = used[device];
      for (const auto& [stage, held] : moment) sum += ofStage(stage, held) - ofStage(stage, 0);
      most = std::max(most, sum);
    }
  }
  return std::max<std::int64_t>(0, most - problem_.request.memory);
}

Value CostModel::bound(const Cuts& cuts) const {
  const std::vector<StageCost> all = stages(cuts);
  const std::int64_t each = problem_.request.microBatches / pipes_;
  std::vector<std::int64_t> busy(devices_, 0);
  for (std::size_t s = 0; s < placeOfStage_.size(); ++s) {
    const StageCost& stage = all[s % all.size()];
    busy[static_cast<std::size_t>(placeOfStage_[s])] += each * (stage.forward + stage.backward);
  }
  std::int64_t time = *std::ranges::max_element(busy);
  if (pipes_ > 1 || devices_ != all.size()) return {missing(all), time};
  // A stage works between the passes of the first micro-batch on its way to it and those of the last one on
  // its way back. A split backward pass passes on the gradients of its input before those of its weights.
  std::int64_t before = 0;
  for (const StageCost& stage : all) {
    time = std::max(time, before + problem_.request.microBatches * (stage.forward + stage.backward));
    before += stage.forward + (splitsBackward_ ? 0 : stage.backward);
  }
  return {missing(all), time};
}

compile::FixedRun CostModel::run(const Cuts& cuts) const {
  compile::FixedRun run;
  run.schedule = problem_.request.schedule;
  run.microBatches = std::max(1, problem_.request.microBatches);
  run.chunks = problem_.request.chunks;
  run.bandwidth = problem_.request.bandwidth / 1e3;
  for (const StageCost& stage : stages(cuts)) {
    compile::FixedRun::Stage costs;
    costs.forward = static_cast<double>(stage.forward) / kNsPerMs;
    costs.backward = static_cast<double>(stage.backward) / kNsPerMs;
    costs.sends = stage.sends;
    run.stages.push_back(costs);
  }
  return run;
}

Value CostModel::value(const Cuts& cuts) const {
  const std::vector<StageCost> all = stages(cuts);
  Value value{missing(all), 0};
  if (problem_.request.microBatches == 0) {
    for (const StageCost& stage : all) value.time = std::max(value.time, stage.time());
    return value;
  }
  const base::Result<base::Ticks> ticks = callTicks(run(cuts));
  PIPESCOPE_CHECK(ticks.ok(), "a schedule that was laid out runs");
  value.time = ticks->count;
  return value;
}

}  // namespace pipescope::plan
