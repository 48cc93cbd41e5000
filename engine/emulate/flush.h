#pragma once
// One flush of a pipeline: all micro-batches of an iteration through an order's tasks, by either sync
// discipline.
#include "engine/emulate/timeline_writer.h"

namespace pipescope::emulate {

/// What both disciplines share: how a task becomes placements, and which boundaries leave a stage.
class FlushBase {
 public:
  FlushBase(const Executable& executable, const devices::System& system, TimelineWriter& writer)
      : executable_(executable),
        system_(system),
        writer_(writer),
        live_(executable.order.devices.size(), 0) {}

 protected:
  const StageSegments& segments(int stage) const {
    return executable_.stages[static_cast<std::size_t>(stage)];
  }
  int deviceOf(int stage) const { return executable_.deviceOfStage[static_cast<std::size_t>(stage)]; }
  int devices() const { return static_cast<int>(executable_.order.devices.size()); }
  const std::vector<schedules::Task>& tasks(int device) const {
    return executable_.order.devices[static_cast<std::size_t>(device)];
  }

  /// The compute part of a task: forward, or recompute and backward.
  void placeCompute(int device, const schedules::Task& task, int iteration);
  void placeHostIn(int device, const schedules::Task& task, int iteration);
  void placeHostOut(int device, const schedules::Task& task, int iteration);

  const Executable& executable_;
  const devices::System& system_;
  TimelineWriter& writer_;

 private:
  void countLive(int device, int change);
  std::vector<int> live_;  ///< micro-batches between their forward and the end of their backward, by device
};

/// A barrier and all boundary copies after every slot.
class BarrierFlush : public FlushBase {
 public:
  BarrierFlush(const Executable& executable, const devices::System& system, TimelineWriter& writer);
  void run(int iteration);

 private:
  /// A device's tasks of the slot, from `next` on, which moves behind them. Returns how many there were.
  int runDevice(int device, std::size_t& next, int slot, int iteration);
  void exchange(int slot, int iteration, int slowest);
  void waitForSlowest(int slot, int iteration, int slowest);

  std::vector<devices::Flow> flows_;  ///< of executable_.boundaries, in order
  std::vector<Ticks> flowTicks_;
  Ticks exchangeTicks_;
  std::vector<std::size_t> next_;
};

/// A task starts when its device is free and its input has arrived.
class DependencyFlush : public FlushBase {
 public:
  DependencyFlush(const Executable& executable, const devices::System& system, TimelineWriter& writer);
  void run(int iteration);

 private:
  struct Arrival {
    bool known = false;
    Ticks sent, arrived;  ///< when the producer ended, and when its bytes are here
    model::PlacementId source;
    int device = -1;
  };
  /// Runs the device's tasks until one lacks its input. True if at least one ran.
  bool advance(int device, int iteration);
  /// The input a task waits for; null: none.
  const Arrival* input(const schedules::Task& task, bool& ready) const;
  void runTask(int device, const schedules::Task& task, int iteration, const Arrival* arrival);
  void send(int device, const schedules::Task& task, int iteration);
  Arrival& arrival(int stage, model::Pass pass, int microBatch);
  const Arrival& arrival(int stage, model::Pass pass, int microBatch) const;

  std::vector<std::size_t> next_;
  std::vector<Arrival>
      arrivals_;               ///< end of (stage, forward | backward, micro-batch) as the neighbour sees it
  std::vector<Arrival> left_;  ///< end of a micro-batch's last task, for one-at-a-time orders
};

}  // namespace pipescope::emulate
