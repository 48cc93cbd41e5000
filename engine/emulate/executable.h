#pragma once
// What the emulator runs: an order, and for each stage and pass the recorded segments with their lengths.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/compile/plan.h"
#include "engine/devices/core/device_family.h"
#include "engine/schedules/schedule.h"
#include "profiler/record/recorder.h"

namespace pipescope::emulate {

using base::Bytes;
using base::Ticks;

enum class RecordLevel { off, stages, steps, tiles };

/// Ids of what recordSystem wrote, by index in devices::System.
struct SystemIds {
  std::vector<model::DeviceId> devices;
  std::vector<std::map<model::LaneRole, model::LaneId>> lanes;  ///< by device
  std::map<std::pair<int, int>, model::LinkId> links;
  std::vector<std::vector<model::MemorySpaceId>> memory;  ///< by device and space
  model::MemorySpaceId host;                              ///< none: the system has no links to a host
};
/// Records target, devices, lanes, links and memory spaces.
SystemIds recordSystem(record::Recorder& recorder, const devices::System& system, int devicesUsed);

struct SegmentRef {
  model::SegmentId id;
  Ticks ticks;
  model::Pass pass = model::Pass::forward;
  int after = -1;  ///< see LoweredSegment::after
};
using SegmentRefs = std::vector<SegmentRef>;

struct StageSegments {
  SegmentRefs hostIn, forward, hostOut, recompute, backward, weight;
  SegmentRefs update;      ///< once per iteration: collectives, loads, the update, stores, in order
  SegmentRefs overlapped;  ///< collectives beside the last micro-batch's backward pass
};

/// Bytes per micro-batch over a boundary between two stages on different devices.
struct BoundaryFlow {
  int fromStage = 0, toStage = 0;
  model::TransferKind kind = model::TransferKind::activation;
  Bytes bytes;
  devices::Flow flow;
  model::LaneId fromLane, toLane;
  model::LinkId link;   ///< none: the way leads over several
  double slowdown = 1;  ///< of its time, where a device's links are scaled
};

/// Ticks × slowdown, rounded up.
Ticks slower(Ticks ticks, double slowdown);

/// Bytes of a device's first memory space, sums over units: what the counter live_bytes adds up.
struct LiveBytes {
  Bytes always;                                       ///< always live, stash rings left out
  std::map<std::pair<int, model::Pass>, Bytes> peak;  ///< largest not-always-live of (stage, pass)
};

/// Which micro-batches of a call send their outputs to the host (PopTorch's output modes).
struct OutputRule {
  enum class Mode { all, final, sum, everyN } mode = Mode::all;
  std::int64_t period = 1;
  /// `microBatch` of `iteration` in a call of `iterations` × `microBatches`.
  bool returns(std::int64_t iteration, std::int64_t microBatch, std::int64_t iterations,
               std::int64_t microBatches) const;
};

/// A device that is slower (or faster) than its kind: 0.9 takes 1 ÷ 0.9 times as long.
struct DeviceScale {
  int device = 0;
  double compute = 1;  ///< all that the device does by itself
  double link = 1;     ///< its transfers to other devices, and collectives that it takes part in
};

/// Facts of an executable that its plan does not hold.
struct ExecutableFacts {
  std::string strategy, schedule, recompute;
  std::int64_t microBatchSize = 1, microBatches = 1, deviceIterations = 1, replicas = 1;
  /// Flushes per call: D in training; 1 in inference, where the D micro-batches are one flush.
  std::int64_t iterations = 1;
  OutputRule output;
  std::int64_t inputGroup = 1;  ///< neighbouring replicas that get the same input
  std::vector<DeviceScale> scales;
  bool recordAllReplicas = false;  ///< otherwise one of each speed
  bool overlapIo = false;          ///< host loads and stores go on beside the compute (I/O tiles)
  /// Samples per second that the host's input pipeline prepares for each replica; 0: it never holds a device
  /// up.
  double loaderRate = 0;
  /// Rows of an iteration's input.
  std::int64_t rows() const { return microBatchSize * microBatches * (replicas / inputGroup); }
};

/// One recorded replica, which stands for all of the same speed: its segments, links and counters.
struct ReplicaPart {
  int replica = 0;
  std::int64_t members = 1;
  int firstDevice = 0;  ///< indices of devices below count from here
  std::vector<StageSegments> stages;
  std::vector<BoundaryFlow> boundaries;
  /// Flows of the boundaries of other replicas that share a link with these: all replicas are taken to go in
  /// step.
  std::vector<std::vector<devices::Flow>> beside;
  std::vector<SegmentRef> sync;  ///< by device: the external sync before an exchange; id none: costs nothing
  // Counters by device; empty in inference and where nothing is recorded. Those that a device has no use for
  // are none.
  std::vector<model::CounterId> liveMicroBatches, stashCounters, liveBytesCounters;
  std::vector<LiveBytes> liveBytes;  ///< by device
};

struct Executable {
  model::ExecutableId id;
  bool training = true;
  ExecutableFacts facts;
  schedules::Order order;
  std::vector<int> deviceOfStage;
  std::vector<int> chunkOfStage;  ///< earlier stages on the same device
  std::vector<std::int64_t> stashEntries;
  std::vector<Bytes> stashBytesPerEntry;  ///< by stage
  std::vector<ReplicaPart> parts;         ///< ascending replicas; the first is replica 0
  bool mirrored = false;                  ///< see compile::Replication
};

/// Records an executable: stages, boundaries, operators, programs, segments, steps, variables, liveness, unit
/// memory. `lowered` has one entry per device of the first replica that holds a stage; those of other
/// replicas are copies of it, slower where facts.scales say so.
Executable recordExecutable(record::Recorder& recorder, const devices::System& system, const SystemIds& ids,
                            const compile::ExecutablePlan& plan,
                            const std::vector<devices::LoweredDevice>& lowered, schedules::Order order,
                            const ExecutableFacts& facts, RecordLevel level);

}  // namespace pipescope::emulate
