#include <algorithm>

#include "engine/emulate/flush.h"

namespace pipescope::emulate {

BarrierFlush::BarrierFlush(const EmulatedExecutable& executable, const ReplicaPart& part,
                           const devices::System& system, TimelineWriter& writer)
    : FlushBase(executable, part, writer), next_(executable.order.devices.size(), 0) {
  if (executable.order.progression != schedules::Progression::barrier || part.boundaries.empty()) return;
  std::vector<devices::Flow> flows;
  for (const BoundaryFlow& boundary : part.boundaries) flows.push_back(boundary.flow);
  flowTicks_ = ticksBeside(system, flows, part.beside);
  for (std::size_t i = 0; i < flows.size(); ++i)
    flowTicks_[i] = slower(flowTicks_[i], part.boundaries[i].slowdown);
  for (const Ticks ticks : flowTicks_) exchangeTicks_ = std::max(exchangeTicks_, ticks);
}

void BarrierFlush::run(int iteration) {
  std::fill(next_.begin(), next_.end(), 0);
  for (int slot = 0; slot < executable_.order.slots; ++slot) {
    int slowest = 0;
    for (int d = 0; d < devices(); ++d) {
      std::size_t& next = next_[static_cast<std::size_t>(d)];
      const std::size_t first = next;
      while (next < tasks(d).size() && tasks(d)[next].slot == slot) ++next;
      placeTasks(d, first, next, iteration);
      if (writer_.clock(d).free > writer_.clock(slowest).free) slowest = d;
    }
    waitForSlowest(slot, iteration, slowest);
    exchange(slot, iteration, slowest);
    if (slot % 64 == 63) writer_.commitIfDue();
  }
  live_.finish();
  finishStores(iteration);
}

void BarrierFlush::waitForSlowest(int slot, int iteration, int slowest) {
  const DeviceClock& last = writer_.clock(slowest);
  const Ticks end = last.free;
  for (int d = 0; d < devices(); ++d) {
    const std::vector<schedules::Task>& all = tasks(d);
    const std::size_t done = next_[static_cast<std::size_t>(d)];
    const bool idle = done == 0 || all[done - 1].slot != slot;
    model::WaitCause cause = model::WaitCause::slowerStage;
    if (idle && done == 0) cause = model::WaitCause::fill;
    if (idle && done == all.size()) cause = model::WaitCause::drain;
    writer_.wait(d, end, cause, last.last, slowest, {.iteration = iteration, .slot = slot});
  }
}

int BarrierFlush::microBatchOn(const BoundaryFlow& boundary, int slot) const {
  const bool forward = boundary.kind == model::TransferKind::activation;
  const int from = deviceOf(boundary.fromStage);
  const std::vector<schedules::Task>& all = tasks(from);
  for (std::size_t t = next_[static_cast<std::size_t>(from)]; t-- > 0 && all[t].slot == slot;) {
    if (all[t].stage == boundary.fromStage && (all[t].pass == model::Pass::forward) == forward)
      return all[t].microBatch;
  }
  return -1;
}

/// PopART runs the copies of all boundaries in every cycle, even before there is anything to send.
void BarrierFlush::exchange(int slot, int iteration, int slowest) {
  if (flowTicks_.empty()) return;
  for (int d = 0; d < devices(); ++d) {
    const SegmentRef& sync = part_.sync[static_cast<std::size_t>(d)];
    if (sync.id.valid()) writer_.place(d, {sync}, {.iteration = iteration, .slot = slot});
  }
  const Ticks start = writer_.clock(slowest).free, end = start + exchangeTicks_;
  for (std::size_t i = 0; i < flowTicks_.size() && writer_.records(); ++i) {
    const BoundaryFlow& boundary = part_.boundaries[i];
    writer_.transfer(boundary, start, start + flowTicks_[i], writer_.clock(deviceOf(boundary.fromStage)).last,
                     {.stage = boundary.fromStage,
                      .microBatch = microBatchOn(boundary, slot),
                      .iteration = iteration,
                      .slot = slot});
  }
  for (std::size_t i = 0; i < flowTicks_.size(); ++i) {
    writer_.occupied(deviceOf(part_.boundaries[i].fromStage), start + flowTicks_[i]);
    writer_.occupied(deviceOf(part_.boundaries[i].toStage), start + flowTicks_[i]);
  }
  for (int d = 0; d < devices(); ++d) {
    writer_.wait(d, end, model::WaitCause::exchange, writer_.clock(d).last, d,
                 {.iteration = iteration, .slot = slot});
  }
}

}  // namespace pipescope::emulate
