#pragma once
#include "profiler/clock/flush.h"

namespace pipescope::clock {

/// A flush whose slots end with a barrier and all boundary copies, as PopART runs pipelines.
class BarrierFlush : public Flush {
 public:
  BarrierFlush(const Call& call, const Host& host, PlaceClocks& clocks);

 private:
  void startTasks() override;
  bool done() const override { return true; }
  void waitForSlowest(int slot, int slowest);
  void exchange(int slot, int slowest);
  /// The micro-batch that the sender of the flow has just finished, or −1 if its copy carries nothing.
  int microBatchOn(const Flow& flow, int slot) const;

  Ticks exchangeTicks_;
  std::vector<std::size_t> next_;  ///< next task of each place
};

}  // namespace pipescope::clock
