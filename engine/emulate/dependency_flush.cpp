#include <algorithm>

#include "engine/emulate/flush.h"

namespace pipescope::emulate {

DependencyFlush::DependencyFlush(const Executable& executable, const devices::System& system,
                                 TimelineWriter& writer)
    : FlushBase(executable, system, writer),
      next_(executable.order.devices.size(), 0),
      arrivals_(executable.stages.size() * 2 * static_cast<std::size_t>(executable.facts.microBatches)),
      left_(static_cast<std::size_t>(executable.facts.microBatches)) {}

DependencyFlush::Arrival& DependencyFlush::arrival(int stage, model::Pass pass, int microBatch) {
  const std::size_t direction = pass == model::Pass::forward ? 0 : 1;
  const auto count = static_cast<std::size_t>(executable_.facts.microBatches);
  return arrivals_[(static_cast<std::size_t>(stage) * 2 + direction) * count +
                   static_cast<std::size_t>(microBatch)];
}
const DependencyFlush::Arrival& DependencyFlush::arrival(int stage, model::Pass pass, int microBatch) const {
  return const_cast<DependencyFlush*>(this)->arrival(stage, pass, microBatch);
}

void DependencyFlush::run(int iteration) {
  std::fill(next_.begin(), next_.end(), 0);
  std::fill(arrivals_.begin(), arrivals_.end(), Arrival());
  std::fill(left_.begin(), left_.end(), Arrival());
  for (bool moved = true; moved;) {
    moved = false;
    for (int d = 0; d < devices(); ++d) moved = advance(d, iteration) || moved;
  }
  for (int d = 0; d < devices(); ++d) {
    PIPESCOPE_CHECK(next_[static_cast<std::size_t>(d)] == tasks(d).size(), "the schedule's order deadlocks");
  }
}

bool DependencyFlush::advance(int device, int iteration) {
  bool moved = false;
  std::size_t& next = next_[static_cast<std::size_t>(device)];
  while (next < tasks(device).size()) {
    const schedules::Task& task = tasks(device)[next];
    bool ready = true;
    const Arrival* arrival = input(task, ready);
    if (!ready) break;
    runTask(device, task, iteration, arrival);
    ++next;
    moved = true;
  }
  return moved;
}

const DependencyFlush::Arrival* DependencyFlush::input(const schedules::Task& task, bool& ready) const {
  const int last = static_cast<int>(executable_.stages.size()) - 1;
  const Arrival* needed = nullptr;
  if (task.pass == model::Pass::forward && task.stage > 0)
    needed = &arrival(task.stage - 1, model::Pass::forward, task.microBatch);
  if (task.pass == model::Pass::backward && task.stage < last)
    needed = &arrival(task.stage + 1, model::Pass::backward, task.microBatch);
  if (executable_.order.oneAtATime && task.pass == model::Pass::forward && task.stage == 0 &&
      task.microBatch > 0) {
    needed = &left_[static_cast<std::size_t>(task.microBatch - 1)];
  }
  ready = needed == nullptr || needed->known;
  return needed;
}

void DependencyFlush::runTask(int device, const schedules::Task& task, int iteration,
                              const Arrival* arrival) {
  if (arrival != nullptr && arrival->device != device) {
    const Where where{task.stage, task.microBatch, iteration, task.slot};
    const bool first = next_[static_cast<std::size_t>(device)] == 0;
    const model::WaitCause cause = first ? model::WaitCause::fill : model::WaitCause::slowerStage;
    writer_.wait(device, arrival->sent, cause, arrival->source, arrival->device, where);
    writer_.wait(device, arrival->arrived, first ? cause : model::WaitCause::exchange, arrival->source,
                 arrival->device, where);
  }
  placeHostIn(device, task, iteration);
  placeCompute(device, task, iteration);
  placeHostOut(device, task, iteration);
  send(device, task, iteration);
}

void DependencyFlush::send(int device, const schedules::Task& task, int iteration) {
  const DeviceClock& clock = writer_.clock(device);
  const bool forward = task.pass == model::Pass::forward;
  Arrival ended{true, clock.free, clock.free, clock.last, device};
  const int last = static_cast<int>(executable_.stages.size()) - 1;
  if (forward ? (!executable_.training && task.stage == last) : task.stage == 0)
    left_[static_cast<std::size_t>(task.microBatch)] = ended;
  for (const BoundaryFlow& flow : executable_.boundaries) {
    const bool mine =
        flow.fromStage == task.stage && (flow.kind == model::TransferKind::activation) == forward;
    if (!mine) continue;
    const int to = deviceOf(flow.toStage);
    const Ticks ticks = system_.transferTicks({{device, to, flow.bytes}}).front();
    writer_.transfer(device, to, flow.kind, flow.bytes, clock.free, clock.free + ticks, clock.last,
                     {task.stage, task.microBatch, iteration, task.slot});
    ended.arrived = std::max(ended.arrived, clock.free + ticks);
  }
  arrival(task.stage, task.pass, task.microBatch) = ended;
}

}  // namespace pipescope::emulate
