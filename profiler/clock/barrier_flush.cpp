#include "profiler/clock/barrier_flush.h"

#include <algorithm>

namespace pipescope::clock {

BarrierFlush::BarrierFlush(const Call& call, const Host& host, PlaceClocks& clocks)
    : Flush(call, host, clocks), next_(static_cast<std::size_t>(clocks.places())) {
  for (const Flow& flow : clocks.costs().flows) {
    copies_.push_back({flow.fromStage, placeOf(flow.fromStage), placeOf(flow.toStage),
                       flow.kind == model::TransferKind::activation, flow.ticks});
    exchangeTicks_ = std::max(exchangeTicks_, flow.ticks);
  }
  syncs_ = std::ranges::any_of(clocks.costs().sync, [](const Piece& sync) { return sync.ticks.count > 0; });
}

void BarrierFlush::startTasks() {
  std::ranges::fill(next_, 0);
  for (int slot = 0; slot < order_->slots; ++slot) {
    int slowest = 0;
    for (int p = 0; p < clocks_.places(); ++p) {
      std::size_t& next = next_[static_cast<std::size_t>(p)];
      const std::size_t first = next;
      while (next < tasks(p).size() && tasks(p)[next].slot == slot) ++next;
      placeTasks(p, first, next);
      if (clocks_.clock(p).free > clocks_.clock(slowest).free) slowest = p;
    }
    waitForSlowest(slot, slowest);
    exchange(slot, slowest);
    if (slot % 64 == 63 && clocks_.sink() != nullptr) clocks_.sink()->pause();
  }
}

void BarrierFlush::waitForSlowest(int slot, int slowest) {
  const PlaceClock last = clocks_.clock(slowest);
  for (int p = 0; p < clocks_.places(); ++p) {
    const std::vector<Task>& all = tasks(p);
    const std::size_t done = next_[static_cast<std::size_t>(p)];
    const bool idle = done == 0 || all[done - 1].slot != slot;
    model::WaitCause cause = model::WaitCause::slowerStage;
    if (idle && done == 0) cause = model::WaitCause::fill;
    if (idle && done == all.size()) cause = model::WaitCause::drain;
    clocks_.wait(p, last.free, cause, last.last, slowest, {.iteration = iteration_, .slot = slot});
  }
}

int BarrierFlush::microBatchOn(const Copy& copy, int slot) const {
  const std::vector<Task>& all = tasks(copy.from);
  for (std::size_t t = next_[static_cast<std::size_t>(copy.from)]; t-- > 0 && all[t].slot == slot;) {
    if (all[t].stage == copy.fromStage && (all[t].pass == model::Pass::forward) == copy.forward)
      return all[t].microBatch;
  }
  return -1;
}

/// The copies of all boundaries run in every cycle, even before there is anything to send.
void BarrierFlush::exchange(int slot, int slowest) {
  if (copies_.empty()) return;
  const WorkOf of{.iteration = iteration_, .slot = slot};
  for (int p = 0; syncs_ && p < clocks_.places(); ++p) {
    const Piece& sync = clocks_.costs().sync[static_cast<std::size_t>(p)];
    if (sync.ticks.count > 0) clocks_.work(p, sync, of);
  }
  const Ticks start = clocks_.clock(slowest).free;
  Sink* const sink = clocks_.sink();
  for (std::size_t i = 0; i < copies_.size(); ++i) {
    const Copy& copy = copies_[i];
    if (sink != nullptr && copy.ticks.count > 0)
      sink->transferred(clocks_.replica(), static_cast<int>(i), start, start + copy.ticks,
                        clocks_.clock(copy.from).last,
                        {copy.fromStage, microBatchOn(copy, slot), iteration_, slot});
    for (const int place : {copy.from, copy.to}) {
      PlaceClock& busy = clocks_.clock(place);
      busy.free = std::max(busy.free, start + copy.ticks);
    }
  }
  for (int p = 0; p < clocks_.places(); ++p)
    clocks_.wait(p, start + exchangeTicks_, model::WaitCause::exchange, clocks_.clock(p).last, p, of);
}

}  // namespace pipescope::clock
