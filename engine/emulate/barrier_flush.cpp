#include <algorithm>

#include "engine/emulate/flush.h"

namespace pipescope::emulate {

BarrierFlush::BarrierFlush(const Executable& executable, const devices::System& system,
                           TimelineWriter& writer)
    : FlushBase(executable, system, writer), next_(executable.order.devices.size(), 0) {
  for (const BoundaryFlow& flow : executable.boundaries)
    flows_.push_back({deviceOf(flow.fromStage), deviceOf(flow.toStage), flow.bytes});
  if (!flows_.empty()) flowTicks_ = system.transferTicks(flows_);
  for (const Ticks ticks : flowTicks_) exchangeTicks_ = std::max(exchangeTicks_, ticks);
}

void BarrierFlush::run(int iteration) {
  std::fill(next_.begin(), next_.end(), 0);
  for (int slot = 0; slot < executable_.order.slots; ++slot) {
    int slowest = 0;
    for (int d = 0; d < devices(); ++d) {
      runDevice(d, next_[static_cast<std::size_t>(d)], slot, iteration);
      if (writer_.clock(d).free > writer_.clock(slowest).free) slowest = d;
    }
    waitForSlowest(slot, iteration, slowest);
    exchange(slot, iteration, slowest);
  }
}

int BarrierFlush::runDevice(int device, std::size_t& next, int slot, int iteration) {
  const std::vector<schedules::Task>& all = tasks(device);
  const std::size_t first = next;
  while (next < all.size() && all[next].slot == slot) ++next;
  for (std::size_t i = first; i < next; ++i) placeHostIn(device, all[i], iteration);
  for (std::size_t i = first; i < next; ++i) placeCompute(device, all[i], iteration);
  for (std::size_t i = first; i < next; ++i) placeHostOut(device, all[i], iteration);
  return static_cast<int>(next - first);
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
    writer_.wait(d, end, cause, last.last, slowest, {-1, -1, iteration, slot});
  }
}

/// PopART issues every boundary's copy in every cycle, even before there is anything to send.
void BarrierFlush::exchange(int slot, int iteration, int slowest) {
  if (flows_.empty()) return;
  for (int d = 0; d < devices(); ++d) {
    const SegmentRef& sync = executable_.sync[static_cast<std::size_t>(d)];
    if (sync.id.valid()) writer_.place(d, {sync}, {-1, -1, iteration, slot});
  }
  const Ticks start = writer_.clock(slowest).free, end = start + exchangeTicks_;
  for (std::size_t i = 0; i < flows_.size(); ++i) {
    const BoundaryFlow& boundary = executable_.boundaries[i];
    // The micro-batch on the wire is the one that the sending stage has just finished, if any.
    const bool forward = boundary.kind == model::TransferKind::activation;
    int microBatch = -1;
    for (std::size_t t = next_[static_cast<std::size_t>(flows_[i].from)]; t-- > 0;) {
      const schedules::Task& task = tasks(flows_[i].from)[t];
      if (task.slot != slot) break;
      if (task.stage == boundary.fromStage && (task.pass == model::Pass::forward) == forward)
        microBatch = task.microBatch;
    }
    writer_.transfer(flows_[i].from, flows_[i].to, boundary.kind, boundary.bytes, start,
                     start + flowTicks_[i], writer_.clock(flows_[i].from).last,
                     {boundary.fromStage, microBatch, iteration, slot});
  }
  for (std::size_t i = 0; i < flows_.size(); ++i) {
    writer_.occupied(flows_[i].from, start + flowTicks_[i]);
    writer_.occupied(flows_[i].to, start + flowTicks_[i]);
  }
  for (int d = 0; d < devices(); ++d) {
    writer_.wait(d, end, model::WaitCause::exchange, writer_.clock(d).last, d, {-1, -1, iteration, slot});
  }
}

}  // namespace pipescope::emulate
