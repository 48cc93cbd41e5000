#pragma once
// One flush of a pipeline: all micro-batches of an iteration pass through the tasks of an order, either with
// barriers or by dependencies.
#include <cstdint>

#include "engine/emulate/link_contention.h"
#include "engine/emulate/live_counters.h"
#include "engine/emulate/timeline_writer.h"

namespace pipescope::emulate {

/// The input pipeline of the host during one call. It prepares one micro-batch after another, whatever the
/// devices do.
struct HostLoader {
  Ticks start;
  double ticksPerMicroBatch = 0;  ///< 0: it never delays a device
  /// When the first `microBatches` are prepared. The time is computed from the start, so that rounding errors
  /// do not add up.
  Ticks prepared(std::int64_t microBatches) const;
};

/// What both kinds of flush share: how a task becomes placements.
class FlushBase {
 public:
  FlushBase(const EmulatedExecutable& executable, const ReplicaPart& part, TimelineWriter& writer)
      : executable_(executable),
        part_(part),
        writer_(writer),
        live_(executable, part, writer),
        backwardStart_(executable.deviceOfStage.size()),
        loaded_(executable.order.devices.size()),
        loading_(loaded_.size()),
        storing_(loaded_.size()),
        room_(loaded_.size(), Ticks(-1)),
        lastStore_(loaded_.size()) {}

  void setLoader(const HostLoader& loader) { loader_ = loader; }

  /// Makes devices wait for host stores that still run beside the compute.
  void finishStores(int iteration);

  /// When the last backward pass of the stage began. After a flush it is that of the last micro-batch.
  Ticks backwardStart(int stage) const { return backwardStart_[static_cast<std::size_t>(stage)]; }

 protected:
  const StageSegments& segments(const schedules::Task& task) const {
    return executable_.segments(part_, task.stage, task.microBatch);
  }
  int deviceOf(int stage) const { return executable_.deviceOfStage[static_cast<std::size_t>(stage)]; }
  int devices() const { return static_cast<int>(executable_.order.devices.size()); }
  const std::vector<schedules::Task>& tasks(int device) const {
    return executable_.order.devices[static_cast<std::size_t>(device)];
  }
  WorkPlace where(const schedules::Task& task, int iteration) const {
    return {.stage = task.stage,
            .microBatch = task.microBatch,
            .iteration = iteration,
            .slot = task.slot,
            .chunk = executable_.chunkOfStage[static_cast<std::size_t>(task.stage)]};
  }

  /// Places the tasks first … end−1 of a device from its free time on: host loads, compute, host stores.
  void placeTasks(int device, std::size_t first, std::size_t end, int iteration);
  /// Places the loads from streaming memory with which a task begins. They need nothing from other devices.
  /// placeTasks then leaves them out.
  void placeLoads(int device, std::size_t task, int iteration);

  const EmulatedExecutable& executable_;
  const ReplicaPart& part_;
  TimelineWriter& writer_;
  LiveCounters live_;

 private:
  std::vector<Ticks> backwardStart_;  ///< by stage
  std::vector<std::size_t> loaded_;   ///< by device: how many segments of its next task placeLoads has placed
  /// By device: until when its host loads and stores run, and since when there is room for the next load.
  std::vector<Ticks> loading_, storing_, room_;
  std::vector<model::PlacementId> lastStore_;
  HostLoader loader_;
  /// When the host has prepared the micro-batch of the task.
  Ticks prepared(const schedules::Task& task, int iteration) const;
  /// Places the compute of a task: forward, recompute and backward, or weight gradients.
  void placeCompute(int device, const schedules::Task& task, int iteration);
  /// Places the segments of a task that placeLoads has not placed yet. A segment of the backward pass may
  /// recompute.
  void placeRest(int device, const SegmentRefs& segments, const WorkPlace& where);
  /// These place host loads and stores on lanes of their own, beside the compute (I/O tiles).
  void loadBeside(int device, const schedules::Task& task, int iteration);
  void storeBeside(int device, const schedules::Task& task, int iteration);
};

/// A flush whose slots end with a barrier and all boundary copies.
class BarrierFlush : public FlushBase {
 public:
  BarrierFlush(const EmulatedExecutable& executable, const ReplicaPart& part, const devices::System& system,
               TimelineWriter& writer);
  void run(int iteration);

 private:
  void exchange(int slot, int iteration, int slowest);
  void waitForSlowest(int slot, int iteration, int slowest);
  /// The micro-batch that the sender of the boundary has just finished, or −1 if its copy carries nothing.
  int microBatchOn(const BoundaryFlow& boundary, int slot) const;

  std::vector<Ticks> flowTicks_;  ///< in the order of part_.boundaries
  Ticks exchangeTicks_;
  std::vector<std::size_t> next_;
};

/// A flush in which a task starts when its device is free and its inputs have arrived. If concurrent
/// transfers share links, events are processed in the order of time. Otherwise any order gives the same
/// times.
class DependencyFlush : public FlushBase {
 public:
  DependencyFlush(const EmulatedExecutable& executable, const ReplicaPart& part,
                  const devices::System& system, TimelineWriter& writer);
  void run(int iteration);

 private:
  struct Arrival {
    Ticks sent, arrived;  ///< when the producer ended, and when its bytes have arrived
    model::PlacementId source;
    int device = -1;
    std::int32_t flush = -1;  ///< the flush it belongs to; in another flush the arrival is not known yet
  };
  /// A transfer under way.
  struct Sending {
    int flow = -1;
    schedules::Task task;
    Ticks start, end,
        ticks;  ///< expected end, and the whole length if the set of transfers stays as it is
    model::PlacementId source;
    int device = -1;
    std::uint32_t changes = 0;
  };
  struct Event {
    Ticks time;
    int id = 0;  ///< device, or index into sending_
    /// `changes` of the transfer when this event was made; the event is void if it differs
    std::uint32_t changes = 0;
    bool task = false;  ///< true: a block of a device ends; false: a transfer ends
  };
  struct Later {
    bool operator()(const Event& a, const Event& b) const;
  };
  static constexpr int kNoFlow = -1;

  void push(Event event);
  void runOrdered(int iteration);
  void runUnordered(int iteration);
  /// Starts the next block of the device if the arrivals of all its inputs are known.
  void start(int device, int iteration);
  /// Sets `needed` to the input that the task waits for, or to null. Returns false if that input is not known
  /// yet.
  bool input(const schedules::Task& task, const Arrival*& needed) const;
  void waitFor(const Arrival& arrival, int device, const schedules::Task& task, int iteration);
  void blockEnds(int device, int iteration);
  void send(int device, const schedules::Task& task, int iteration);
  void transferEnds(int sending, int iteration);
  /// Recomputes the ends of the transfers in all groups whose members have changed.
  void retime(Ticks now);
  void arrive(const schedules::Task& task, const Arrival& arrival, int iteration);
  std::size_t index(int stage, model::Pass pass, int microBatch) const;
  bool firstOfPipe(int stage) const { return stage % stagesOfPipe_ == 0; }
  bool lastOfPipe(int stage) const { return (stage + 1) % stagesOfPipe_ == 0; }

  int stagesOfPipe_;
  std::int64_t blocks_ = 0;  ///< so far
  std::int32_t flush_ = -1;
  LinkContention links_;
  std::vector<int> flowOf_;  ///< by stage and direction: index of its boundary, or kNoFlow
  /// by device: tasks of its current block; none runs if both are equal
  std::vector<std::size_t> next_, end_;
  std::vector<Arrival> arrivals_;  ///< by stage, direction and micro-batch, as the neighbour sees it
  std::vector<Arrival> left_;      ///< by micro-batch: end of its last task, for one-at-a-time orders
  std::vector<Event> events_;      ///< a heap if transfers share links
  std::vector<Sending> sending_;
  std::vector<int> unused_;               ///< free indices of sending_
  std::vector<std::vector<int>> active_;  ///< by group of links: indices into sending_, by ascending flow
  std::vector<int> changed_;              ///< groups whose members have changed
};

}  // namespace pipescope::emulate
