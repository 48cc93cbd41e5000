#pragma once
// What the emulator runs: an order, and the recorded segments of each stage and pass with their lengths.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/compile/plan.h"
#include "engine/devices/core/device_family.h"
#include "engine/emulate/host_model.h"
#include "engine/schedules/schedule.h"
#include "profiler/record/recorder.h"

namespace pipescope::emulate {

using base::Bytes;

enum class RecordLevel { off, stages, steps, tiles };

/// Ids of the rows that recordSystem wrote, indexed as in devices::System.
struct SystemIds {
  std::vector<model::DeviceId> devices;
  std::vector<std::map<model::LaneRole, model::LaneId>> lanes;  ///< by device
  std::map<std::pair<int, int>, model::LinkId> links;
  std::vector<std::vector<model::MemorySpaceId>> memory;  ///< by device and space
  model::MemorySpaceId host;                              ///< not valid if the system has no links to a host
};
/// Records target, devices, lanes, links and memory spaces.
SystemIds recordSystem(record::Recorder& recorder, const devices::System& system, int devicesWithStages);

struct SegmentRef {
  model::SegmentId id;
  Ticks ticks;
  model::Pass pass = model::Pass::forward;
  int after = -1;  ///< see LoweredSegment::after
};
using SegmentRefs = std::vector<SegmentRef>;

struct StageSegments {
  SegmentRefs hostIn, forward, hostOut, recompute, backward, weight;
  SegmentRefs update;      ///< once per iteration, in order: collectives, loads, the update, stores
  SegmentRefs overlapped;  ///< collectives that run beside the backward pass of the last micro-batch
};

/// What a stage sends per micro-batch to a stage on another device.
struct BoundaryFlow {
  int fromStage = 0, toStage = 0;
  model::TransferKind kind = model::TransferKind::activation;
  Bytes bytes;
  devices::Flow flow;
  model::LaneId fromLane, toLane;
  model::LinkId link;   ///< not valid if the way leads over several links
  double slowdown = 1;  ///< factor of its time, if the links of a device are scaled
};

/// Ticks × slowdown, rounded up.
Ticks slower(Ticks ticks, double slowdown);

/// Live bytes in the first memory space of a device, summed over its units. The counter live_bytes is made of
/// them.
struct LiveBytes {
  Bytes always;                                       ///< always live, without stash rings
  std::map<std::pair<int, model::Pass>, Bytes> peak;  ///< largest not-always-live bytes of (stage, pass)
};

/// Says which micro-batches of a call send their outputs to the host (the output modes of PopTorch).
struct OutputRule {
  enum class Mode { all, final, sum, everyN } mode = Mode::all;
  std::int64_t period = 1;
  /// True for micro-batch `microBatch` of `iteration`, in a call of `iterations` × `microBatches`.
  bool returns(std::int64_t iteration, std::int64_t microBatch, std::int64_t iterations,
               std::int64_t microBatches) const;
};

/// A device whose speed differs from its kind. At 0.9 it takes 1 ÷ 0.9 times as long.
struct DeviceScale {
  int device = 0;
  double compute = 1;  ///< for all work that the device does by itself
  double link = 1;     ///< for its transfers to other devices and the collectives that it takes part in
};

/// Facts about an executable that its plan does not hold.
struct ExecutableFacts {
  std::string strategy, schedule, recompute;
  std::int64_t microBatchSize = 1, microBatches = 1, deviceIterations = 1, replicas = 1;
  /// Flushes per call: D in training. In inference it is 1, because the D micro-batches form one flush.
  std::int64_t iterations = 1;
  OutputRule output;
  std::int64_t inputGroup = 1;  ///< so many neighbouring replicas get the same input
  std::vector<DeviceScale> scales;
  bool recordAllReplicas = false;  ///< false: record one replica of each speed
  bool overlapIo = false;          ///< host copies run at the same time as the compute (I/O tiles)
  HostModel host;                  ///< by default it takes no time
  /// By micro-batch: its compute ÷ the compiled one (microBatchCosts); further ones repeat them. Empty:
  /// all 1.
  std::vector<double> microBatchCosts;
  /// Rows of the input of one iteration.
  std::int64_t rows() const { return microBatchSize * microBatches * (replicas / inputGroup); }
};

/// One recorded replica, which stands for all replicas of the same speed.
struct ReplicaPart {
  int replica = 0;
  std::int64_t members = 1;
  int firstDevice = 0;  ///< indices of devices below are relative to it
  std::vector<StageSegments> stages;
  std::vector<std::vector<StageSegments>> levels;  ///< by cost level of micro-batches, then by stage
  std::vector<BoundaryFlow> boundaries;
  /// Flows of other replicas that share a link with the flows of the boundaries. Replicas are assumed to run
  /// in step.
  std::vector<std::vector<devices::Flow>> beside;
  /// by device: the external sync before an exchange; it costs nothing if its id is not valid
  std::vector<SegmentRef> sync;
  // Counters by device. They are empty in inference and if nothing is recorded; a counter that a device does
  // not need is not valid.
  std::vector<model::CounterId> liveMicroBatches, stashCounters, liveBytesCounters;
  std::vector<LiveBytes> liveBytes;  ///< by device
};

struct EmulatedExecutable {
  model::ExecutableId id;
  bool training = true;
  ExecutableFacts facts;
  schedules::Order order;
  std::vector<int> deviceOfStage;
  std::vector<int> chunkOfStage;  ///< by stage: how many earlier stages are on the same device
  std::vector<std::int64_t> stashEntries;
  std::vector<Bytes> stashBytesPerEntry;  ///< by stage
  std::vector<ReplicaPart> parts;         ///< ascending; the first one is replica 0
  bool mirrored = false;                  ///< see compile::Replication
  std::vector<int> levelOfMicroBatch;     ///< index into ReplicaPart::levels; −1: the costs as compiled
  /// What the stage does for this micro-batch.
  const StageSegments& segments(const ReplicaPart& part, int stage, int microBatch) const {
    const auto s = static_cast<std::size_t>(stage);
    if (levelOfMicroBatch.empty()) return part.stages[s];
    const int level = levelOfMicroBatch[static_cast<std::size_t>(microBatch) % levelOfMicroBatch.size()];
    return level < 0 ? part.stages[s] : part.levels[static_cast<std::size_t>(level)][s];
  }
  /// A sentence for each operator and device that would compute faster than its peak; a fault of a device
  /// model.
  std::vector<std::string> abovePeak;
};

/// Records as properties what a replay needs besides (profiler/replay).
void recordReplayFacts(record::Recorder& recorder, const devices::System& system,
                       const EmulatedExecutable& executable);

/// Records an executable: stages, boundaries, operators, programs, segments, steps, variables, liveness and
/// memory of units. `lowered` has one entry for each device of the first replica that holds a stage. Other
/// replicas get copies, which are slower if facts.scales says so.
EmulatedExecutable recordExecutable(record::Recorder& recorder, const devices::System& system,
                                    const SystemIds& ids, const compile::ExecutablePlan& plan,
                                    const std::vector<devices::LoweredDevice>& lowered,
                                    schedules::Order order, const ExecutableFacts& facts, RecordLevel level);

}  // namespace pipescope::emulate
