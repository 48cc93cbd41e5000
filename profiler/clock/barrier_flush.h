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
  /// A flow as an exchange needs it. Exchanges pass through all flows again and again.
  struct Copy {
    int fromStage = 0, from = 0, to = 0;  ///< stage of the sender, and places
    bool forward = false;
    Ticks ticks;
  };
  /// The micro-batch that the sender has just finished, or −1 if its copy carries nothing.
  int microBatchOn(const Copy& copy, int slot) const;

  std::vector<Copy> copies_;
  bool syncs_ = false;  ///< a place takes part in an external sync before an exchange
  Ticks exchangeTicks_;
  std::vector<std::size_t> next_;  ///< next task of each place
};

}  // namespace pipescope::clock
