#include "profiler/analysis/pipeline/replay.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "profiler/analysis/placements_by_id.h"

namespace pipescope::analysis {
namespace {

ReplayTask::Kind kindOf(model::Pass pass) {
  if (pass == model::Pass::forward) return ReplayTask::Kind::forward;
  return pass == model::Pass::weightGradient ? ReplayTask::Kind::weight : ReplayTask::Kind::backward;
}

double costOf(const ReplayTask& task, const std::vector<StagePassTicks>& costs) {
  const StagePassTicks& cost = costs[static_cast<std::size_t>(task.stage)];
  if (task.kind == ReplayTask::Kind::forward) return cost.forward;
  return task.kind == ReplayTask::Kind::weight ? cost.weight : cost.backward;
}

}  // namespace

Replay::Replay(std::span<const model::Placement> iteration, int stages, model::ScheduleKind kind,
               std::set<int> pipeStarts)
    : stages_(stages), kind_(kind), pipeStarts_(std::move(pipeStarts)) {
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
    addTasks(list);
  });
}

/// Adds the tasks of one device, in the order of their starts.
void Replay::addTasks(const std::vector<const model::Placement*>& placements) {
  for (const model::Placement* p : placements) {
    const ReplayTask task{static_cast<int>(p->device.value), p->stage, p->microBatch, p->slot,
                          kindOf(p->pass)};
    const ReplayTask* last = tasks_.empty() ? nullptr : &tasks_.back();
    const bool same = last && last->device == task.device && last->stage == task.stage &&
                      last->microBatch == task.microBatch && last->kind == task.kind;
    if (same) continue;  // pieces of a cut segment, or recompute and backward, form one task
    tasks_.push_back(task);
    microBatches_ = std::max(microBatches_, task.microBatch + 1);
    training_ = training_ || task.kind != ReplayTask::Kind::forward;
  }
}

double Replay::makespan(const std::vector<StagePassTicks>& costs) const {
  return kind_ == model::ScheduleKind::barrier ? bySlots(costs) : byDependencies(costs);
}

double Replay::bySlots(const std::vector<StagePassTicks>& costs) const {
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

std::int64_t Replay::place(ReplayTask::Kind kind, int stage, int microBatch) const {
  const std::int64_t direction = kind == ReplayTask::Kind::forward ? 0 : 1;
  return (direction * stages_ + stage) * microBatches_ + microBatch;
}

std::int64_t Replay::input(const ReplayTask& task) const {
  using Kind = ReplayTask::Kind;
  if (task.kind == Kind::forward) {
    if (task.stage > 0 && !pipeStarts_.contains(task.stage))
      return place(task.kind, task.stage - 1, task.microBatch);
    if (kind_ != model::ScheduleKind::oneAtATime || task.microBatch == 0) return -1;
    return training_ ? place(Kind::backward, 0, task.microBatch - 1)
                     : place(Kind::forward, stages_ - 1, task.microBatch - 1);
  }
  const bool last = task.stage + 1 == stages_ || pipeStarts_.contains(task.stage + 1);
  return task.kind == Kind::backward && !last ? place(task.kind, task.stage + 1, task.microBatch) : -1;
}

double Replay::byDependencies(const std::vector<StagePassTicks>& costs) const {
  struct Device {
    std::size_t next = 0, end = 0;
    double free = 0;
  };
  std::vector<Device> devices;  // tasks are grouped by device
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    if (i == 0 || tasks_[i].device != tasks_[i - 1].device) devices.push_back({i, i, 0});
    devices.back().end = i + 1;
  }
  constexpr double kNotYet = -1;
  // Each stage processes every micro-batch of its pipe. Otherwise the file is damaged.
  if (std::int64_t{stages_} * microBatches_ > 4 * static_cast<std::int64_t>(tasks_.size())) return 0;
  const std::size_t places = 2 * static_cast<std::size_t>(stages_) * static_cast<std::size_t>(microBatches_);
  std::vector<double> done(places, kNotYet);
  std::map<std::int64_t, std::size_t> waiting;  // index of an end time → device that waits for it
  std::vector<std::size_t> ready;
  for (std::size_t d = devices.size(); d-- > 0;) ready.push_back(d);
  double end = 0;
  while (!ready.empty()) {
    const std::size_t d = ready.back();
    Device& device = devices[d];
    ready.pop_back();
    for (; device.next < device.end; ++device.next) {
      const ReplayTask& task = tasks_[device.next];
      const std::int64_t needed = input(task);
      if (needed >= 0) {
        const double arrived = done[static_cast<std::size_t>(needed)];
        if (arrived == kNotYet) {
          waiting[needed] = d;
          break;
        }
        device.free = std::max(device.free, arrived);
      }
      device.free += costOf(task, costs);
      end = std::max(end, device.free);
      if (task.kind == ReplayTask::Kind::weight) continue;
      const std::int64_t made = place(task.kind, task.stage, task.microBatch);
      done[static_cast<std::size_t>(made)] = device.free;
      if (const auto waiter = waiting.find(made); waiter != waiting.end()) {
        ready.push_back(waiter->second);
        waiting.erase(waiter);
      }
    }
  }
  return std::all_of(devices.begin(), devices.end(), [](const Device& d) { return d.next == d.end; }) ? end
                                                                                                      : 0;
}

}  // namespace pipescope::analysis
