#include "profiler/analysis/pipeline/even_costs.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "profiler/analysis/placements_by_id.h"
#include "profiler/clock/run.h"

namespace pipescope::analysis {

EvenCosts::EvenCosts(std::span<const model::Placement> iteration, int stages, model::ScheduleKind kind,
                     std::int64_t pipes) {
  call_.iterations = 1;
  call_.training = false;
  call_.placeOfStage.assign(static_cast<std::size_t>(stages), 0);
  clock::Order& order = call_.orders.emplace_back();
  order.progression = kind;
  order.pipes = stages % pipes == 0 ? static_cast<int>(pipes) : 1;
  PerDevice<std::vector<const model::Placement*>> byDevice;
  for (const model::Placement& p : iteration) {
    if (model::isComputePass(p.pass) && p.stage >= 0 && p.stage < stages && p.microBatch >= 0)
      byDevice[p.device].push_back(&p);
  }
  byDevice.forEach([this](std::vector<const model::Placement*>& list) {
    const auto earlier = [](const auto* a, const auto* b) {
      return std::tie(a->start, a->id) < std::tie(b->start, b->id);
    };
    if (!std::is_sorted(list.begin(), list.end(), earlier)) std::sort(list.begin(), list.end(), earlier);
    call_.orders.front().places.emplace_back();
    addTasks(static_cast<int>(call_.orders.front().places.size()) - 1, list);
  });
  // Slots may have gaps, which take no time; only their sequence counts.
  std::set<int> slots;
  for (const std::vector<clock::Task>& tasks : order.places)
    for (const clock::Task& task : tasks) slots.insert(task.slot);
  order.slots = static_cast<int>(slots.size());
  for (std::vector<clock::Task>& tasks : order.places) {
    for (clock::Task& task : tasks)
      task.slot = static_cast<int>(std::distance(slots.begin(), slots.find(task.slot)));
  }
}

/// Pieces of a cut segment, or recompute and backward, form one task.
void EvenCosts::addTasks(int place, const std::vector<const model::Placement*>& placements) {
  std::vector<clock::Task>& tasks = call_.orders.front().places[static_cast<std::size_t>(place)];
  for (const model::Placement* p : placements) {
    const clock::Task task{p->stage, p->microBatch, p->slot, clock::taskPassOf(p->pass)};
    const bool same = !tasks.empty() && tasks.back().stage == task.stage &&
                      tasks.back().microBatch == task.microBatch && tasks.back().pass == task.pass;
    if (same) continue;
    tasks.push_back(task);
    call_.placeOfStage[static_cast<std::size_t>(p->stage)] = place;
    call_.microBatches = std::max(call_.microBatches, task.microBatch + 1);
    call_.training = call_.training || task.pass != model::Pass::forward;
  }
}

double EvenCosts::makespan(const std::vector<StagePassTicks>& costs) const {
  // Means are fractions of ticks, so the clock counts in smaller ones: as small as the sum of all work
  // allows.
  double sum = 1;
  for (const std::vector<clock::Task>& tasks : call_.orders.front().places) {
    for (const clock::Task& task : tasks) {
      const StagePassTicks& cost = costs[static_cast<std::size_t>(task.stage)];
      sum += cost.forward + cost.backward + cost.weight;
    }
  }
  constexpr int kMostBits = 61;
  // The ticks of a damaged file may have any sum, or none.
  if (!(sum >= 1 && sum < std::ldexp(1, kMostBits))) return 0;
  const int bits = std::clamp(kMostBits - static_cast<int>(std::ceil(std::log2(sum))), 0, kMostBits);
  const auto piece = [&](model::Pass pass, double ticks) {
    return clock::Pieces{{{}, pass, base::Ticks(std::llround(std::ldexp(ticks, bits)))}};
  };
  // Each stage processes every micro-batch of its pipe. Otherwise the file is damaged.
  std::size_t tasks = 0;
  for (const std::vector<clock::Task>& list : call_.orders.front().places) tasks += list.size();
  if (tasks == 0 ||
      static_cast<double>(call_.stageCount()) * call_.microBatches > 4.0 * static_cast<double>(tasks))
    return 0;
  clock::Call call = call_;
  clock::ReplicaCosts& replica = call.replicas.emplace_back();
  for (const StagePassTicks& cost : costs) {
    clock::StageWork& work = replica.stages.emplace_back().works.emplace_back();
    work.forward = piece(model::Pass::forward, cost.forward);
    work.backward = piece(model::Pass::backward, cost.backward);
    work.weight = piece(model::Pass::weightGradient, cost.weight);
  }
  const base::Result<clock::CallTimes> times = clock::runCall(call, {}, {});
  return times.ok() ? std::ldexp(static_cast<double>(times->computed.end.count), -bits) : 0;
}

}  // namespace pipescope::analysis
