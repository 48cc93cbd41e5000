#pragma once
// One flush of a pipeline: all micro-batches of an iteration through an order's tasks, by either sync
// discipline.
#include <cstdint>

#include "engine/emulate/link_contention.h"
#include "engine/emulate/live_counters.h"
#include "engine/emulate/timeline_writer.h"

namespace pipescope::emulate {

/// The host's input pipeline during one call: it prepares a micro-batch after the other, whatever devices do.
struct Loader {
  Ticks start;
  double ticksPerMicroBatch = 0;  ///< 0: it never holds a device up
  /// When the first `microBatches` are prepared. From the start on, so that roundings do not add up.
  Ticks prepared(std::int64_t microBatches) const;
};

/// What both disciplines share: how a task becomes placements.
class FlushBase {
 public:
  FlushBase(const Executable& executable, const ReplicaPart& part, TimelineWriter& writer)
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

  void setLoader(const Loader& loader) { loader_ = loader; }

  /// Devices wait for host stores that go on beside.
  void finishStores(int iteration);

  /// When the stage's last backward pass began: that of the last micro-batch, after a flush.
  Ticks backwardStart(int stage) const { return backwardStart_[static_cast<std::size_t>(stage)]; }

 protected:
  const StageSegments& segments(int stage) const { return part_.stages[static_cast<std::size_t>(stage)]; }
  int deviceOf(int stage) const { return executable_.deviceOfStage[static_cast<std::size_t>(stage)]; }
  int devices() const { return static_cast<int>(executable_.order.devices.size()); }
  const std::vector<schedules::Task>& tasks(int device) const {
    return executable_.order.devices[static_cast<std::size_t>(device)];
  }
  Where where(const schedules::Task& task, int iteration) const {
    return {task.stage, task.microBatch, iteration, task.slot,
            executable_.chunkOfStage[static_cast<std::size_t>(task.stage)]};
  }

  /// Tasks first … end−1 of a device from its free time on: host loads, compute, host stores.
  void placeTasks(int device, std::size_t first, std::size_t end, int iteration);
  /// Loads of streaming memory with which a task begins: they need nothing of other devices. placeTasks then
  /// leaves them out.
  void placeLoads(int device, std::size_t task, int iteration);

  const Executable& executable_;
  const ReplicaPart& part_;
  TimelineWriter& writer_;
  LiveCounters live_;

 private:
  std::vector<Ticks> backwardStart_;  ///< by stage
  std::vector<std::size_t> loaded_;   ///< by device: segments that placeLoads has placed of its next task
  /// By device: until when its host loads and stores go on, and since when there is room for the next load.
  std::vector<Ticks> loading_, storing_, room_;
  std::vector<model::PlacementId> lastStore_;
  Loader loader_;
  /// When the host has prepared the task's micro-batch.
  Ticks prepared(const schedules::Task& task, int iteration) const;
  /// The compute part of a task: forward, recompute and backward, or weight gradients.
  void placeCompute(int device, const schedules::Task& task, int iteration);
  /// A list of the task but for what placeLoads has placed of it.
  void placeRest(int device, const SegmentRefs& segments, const Where& where);
  /// Host loads and stores beside the compute, on I/O tiles.
  void loadBeside(int device, const schedules::Task& task, int iteration);
  void storeBeside(int device, const schedules::Task& task, int iteration);
};

/// A barrier and all boundary copies after every slot.
class BarrierFlush : public FlushBase {
 public:
  BarrierFlush(const Executable& executable, const ReplicaPart& part, const devices::System& system,
               TimelineWriter& writer);
  void run(int iteration);

 private:
  void exchange(int slot, int iteration, int slowest);
  void waitForSlowest(int slot, int iteration, int slowest);
  /// The micro-batch that the boundary's sender has just finished; −1: none, its copy carries nothing.
  int microBatchOn(const BoundaryFlow& boundary, int slot) const;

  std::vector<Ticks> flowTicks_;  ///< of part_.boundaries, in order
  Ticks exchangeTicks_;
  std::vector<std::size_t> next_;
};

/// A task starts when its device is free and its inputs have arrived. Where transfers under way at the same
/// time share links, events are taken in the order of time; otherwise any order gives the same times.
class DependencyFlush : public FlushBase {
 public:
  DependencyFlush(const Executable& executable, const ReplicaPart& part, const devices::System& system,
                  TimelineWriter& writer);
  void run(int iteration);

 private:
  struct Arrival {
    Ticks sent, arrived;  ///< when the producer ended, and when its bytes are here
    model::PlacementId source;
    int device = -1;
    std::int32_t flush = -1;  ///< it is of this flush; otherwise not known yet
  };
  /// A transfer under way.
  struct Sending {
    int flow = -1;
    schedules::Task task;
    Ticks start, end,
        ticks;  ///< expected end; what it would take from start to end among those now under way
    model::PlacementId source;
    int device = -1;
    std::uint32_t changes = 0;
  };
  struct Event {
    Ticks time;
    int id = 0;                 ///< device, or place in sending_
    std::uint32_t changes = 0;  ///< of the transfer when this was foreseen
    bool task = false;          ///< a device's block ends; otherwise a transfer does
  };
  struct Later {
    bool operator()(const Event& a, const Event& b) const;
  };
  static constexpr int kNoFlow = -1;

  void push(Event event);
  void runOrdered(int iteration);
  void runUnordered(int iteration);
  /// Starts the device's next block if its inputs' arrivals are known.
  void start(int device, int iteration);
  /// The input that a task waits for, if any. False: it is not known yet.
  bool input(const schedules::Task& task, const Arrival*& needed) const;
  void waitFor(const Arrival& arrival, int device, const schedules::Task& task, int iteration);
  void blockEnds(int device, int iteration);
  void send(int device, const schedules::Task& task, int iteration);
  void transferEnds(int sending, int iteration);
  /// Transfers of a group whose members have changed take as long as they do together.
  void retime(Ticks now);
  void arrive(const schedules::Task& task, const Arrival& arrival, int iteration);
  std::size_t index(int stage, model::Pass pass, int microBatch) const;
  bool firstOfPipe(int stage) const { return stage % stagesOfPipe_ == 0; }
  bool lastOfPipe(int stage) const { return (stage + 1) % stagesOfPipe_ == 0; }

  int stagesOfPipe_;
  std::int64_t blocks_ = 0;  ///< done so far
  std::int32_t flush_ = -1;
  LinkContention links_;
  std::vector<int> flowOf_;              ///< by stage and direction: index of its boundary; kNoFlow
  std::vector<std::size_t> next_, end_;  ///< by device: its block; nothing runs where they are equal
  std::vector<Arrival> arrivals_;  ///< of (stage, forward | backward, micro-batch) as the neighbour sees it
  std::vector<Arrival> left_;      ///< end of a micro-batch's last task, for one-at-a-time orders
  std::vector<Event> events_;      ///< a heap where transfers share links
  std::vector<Sending> sending_;
  std::vector<int> unused_;               ///< places in sending_
  std::vector<std::vector<int>> active_;  ///< by group of links: places in sending_, ascending flow
  std::vector<int> changed_;              ///< groups
};

}  // namespace pipescope::emulate
