#include "profiler/analysis/replay.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace pipescope::analysis {

Replay::Replay(const std::vector<model::Placement>& iteration, int stages, bool oneAtATime)
    : stages_(stages), oneAtATime_(oneAtATime) {
  std::vector<const model::Placement*> sorted;
  for (const model::Placement& p : iteration) {
    if (model::isComputePass(p.pass) && p.stage >= 0 && p.stage < stages && p.microBatch >= 0)
      sorted.push_back(&p);
  }
  std::sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) {
    return std::tie(a->device, a->start, a->id) < std::tie(b->device, b->start, b->id);
  });
  for (const model::Placement* p : sorted) {
    const ReplayTask task{static_cast<int>(p->device.value), p->stage, p->microBatch, p->slot,
                          p->pass == model::Pass::forward};
    const ReplayTask* last = tasks_.empty() ? nullptr : &tasks_.back();
    const bool same = last && last->device == task.device && last->stage == task.stage &&
                      last->microBatch == task.microBatch && last->forward == task.forward;
    if (!same) tasks_.push_back(task);  // a segment that was cut, or recompute before backward, is one task
  }
  hasSlots_ = !tasks_.empty() &&
              std::all_of(tasks_.begin(), tasks_.end(), [](const ReplayTask& t) { return t.slot >= 0; });
}

double Replay::makespan(const std::vector<StageCost>& costs) const {
  return hasSlots_ ? bySlots(costs) : byDependencies(costs);
}

namespace {
double costOf(const ReplayTask& task, const std::vector<StageCost>& costs) {
  const StageCost& cost = costs[static_cast<std::size_t>(task.stage)];
  return task.forward ? cost.forward : cost.backward;
}
}  // namespace

double Replay::bySlots(const std::vector<StageCost>& costs) const {
  std::map<int, std::map<int, double>> slots;  // slot → device → ticks
  for (const ReplayTask& task : tasks_) slots[task.slot][task.device] += costOf(task, costs);
  double total = 0;
  for (const auto& [slot, devices] : slots) {
    double slowest = 0;
    for (const auto& [device, ticks] : devices) slowest = std::max(slowest, ticks);
    total += slowest;
  }
  return total;
}

double Replay::byDependencies(const std::vector<StageCost>& costs) const {
  std::map<std::tuple<bool, int, int>, double> done;  // (forward, stage, micro-batch) → end
  std::map<int, double> deviceFree;
  const bool training =
      std::any_of(tasks_.begin(), tasks_.end(), [](const ReplayTask& t) { return !t.forward; });
  const auto ready = [&](const ReplayTask& task, double& start) {
    std::tuple<bool, int, int> needed{task.forward, task.stage + (task.forward ? -1 : 1), task.microBatch};
    bool needs = task.forward ? task.stage > 0 : task.stage + 1 < stages_;
    if (oneAtATime_ && task.forward && task.stage == 0 && task.microBatch > 0) {
      needed = {!training, training ? 0 : stages_ - 1, task.microBatch - 1};
      needs = true;
    }
    if (!needs) return true;
    const auto found = done.find(needed);
    if (found == done.end()) return false;
    start = std::max(start, found->second);
    return true;
  };
  std::vector<bool> ran(tasks_.size(), false);
  double end = 0;
  std::size_t left = tasks_.size();
  for (bool moved = true; moved && left > 0;) {
    moved = false;
    int blocked = -1;  // tasks are grouped by device: one that waits blocks the rest of its device
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      const ReplayTask& task = tasks_[i];
      if (ran[i] || task.device == blocked) continue;
      double start = deviceFree[task.device];
      if (!ready(task, start)) {
        blocked = task.device;
        continue;
      }
      const double finish = start + costOf(task, costs);
      done[{task.forward, task.stage, task.microBatch}] = deviceFree[task.device] = finish;
      end = std::max(end, finish);
      ran[i] = moved = true;
      --left;
    }
  }
  return left == 0 ? end : 0;
}

}  // namespace pipescope::analysis
