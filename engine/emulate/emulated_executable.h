#pragma once
// Work that the emulator runs: an order, and the recorded segments of each stage and pass with their lengths.
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/compile/ir.h"
#include "engine/devices/core/device_family.h"
#include "engine/emulate/host_model.h"
#include "engine/emulate/link_contention.h"
#include "engine/schedules/schedule.h"
#include "profiler/clock/call.h"
#include "profiler/record/recorder.h"

namespace pipescope::emulate {

using base::Bytes;

enum class RecordLevel { off, stages, steps, tiles };

/// Ids of the rows of a system, indexed as in devices::System.
struct SystemIds {
  std::vector<model::DeviceId> devices;
  /// Lanes of each device, and links. Late chips of a large system have those that are used so far.
  std::map<model::DeviceId, std::map<model::LaneRole, model::LaneId>> lanes;
  std::map<std::pair<int, int>, model::LinkId> links;
  std::vector<model::MemorySpaceId> memory;  ///< first space of each device, whose others follow it
  model::MemorySpaceId host;  ///< memory of the host; not valid if the system has no links to a host
};
/// Records target, devices, lanes, links and memory spaces. `hostMemory`: memory of a host; 0: not stated.
/// Lanes and links of chips beyond the first 2,048 are recorded when they are used.
SystemIds recordSystem(record::Recorder& recorder, const devices::System& system, int devicesWithStages,
                       Bytes hostMemory = {});
/// Records the lanes of a device, unless they are recorded already, and returns one of them.
model::LaneId recordLane(record::Recorder& recorder, SystemIds& ids, const devices::DeviceInfo& info,
                         model::DeviceId device, model::LaneRole role);
/// Records a link, unless it is recorded already.
model::LinkId recordLink(record::Recorder& recorder, SystemIds& ids, const devices::LinkInfo& link);

/// Live bytes in the first memory space of a device, summed over its units. The counter live_bytes is made of
/// them.
struct LiveBytes {
  Bytes always;                                       ///< always live, without stash rings
  std::map<std::pair<int, model::Pass>, Bytes> peak;  ///< largest not-always-live bytes of (stage, pass)
  /// Stages whose stash lies where the forward pass made it: the entry of the micro-batch that runs belongs
  /// to the peak of the pass.
  std::set<int> inPlace;
};

/// Says which micro-batches of a call send their outputs to the host (the output modes of PopTorch).
struct OutputRule {
  enum class Mode { all, final, sum, everyN } mode = Mode::all;
  std::int64_t period = 1;
  /// True for micro-batch `microBatch` of `iteration`, in a call of `iterations` × `microBatches`.
  bool returns(std::int64_t iteration, std::int64_t microBatch, std::int64_t iterations,
               std::int64_t microBatches) const;
  /// Sums leave the device with the last micro-batch.
  clock::OutputRule forClock() const;
};

/// A device whose speed differs from its kind. At 0.9 it takes 1 ÷ 0.9 times as long.
struct DeviceScale {
  int device = 0;
  double compute = 1;  ///< factor for all work that the device does by itself
  double link = 1;     ///< factor for its transfers to other devices and for its collectives
};

/// Facts about an executable that its IR does not hold.
struct ExecutableFacts {
  std::string strategy, schedule, recompute;
  std::int64_t microBatchSize = 1, microBatches = 1, deviceIterations = 1, replicas = 1;
  /// Flushes per call: D in training. In inference it is 1, because the D micro-batches form one flush.
  std::int64_t iterations = 1;
  OutputRule output;
  std::int64_t cacheRoom = 0;   ///< tokens of a sample for whose keys and values devices keep memory
  std::int64_t inputGroup = 1;  ///< number of neighbouring replicas that get the same input
  std::vector<DeviceScale> scales;
  bool recordAllReplicas = false;  ///< false to record one replica of each speed
  bool blockingSends = false;      ///< see clock::Call
  /// Places that compute at full speed at the same time, because they share the cores of a host: if more
  /// compute, all take longer by the same factor. 0: places share nothing.
  double sharedCompute = 0;
  bool overlapIo = false;  ///< host copies run at the same time as the compute (I/O tiles)
  HostModel host;          ///< takes no time by default
  /// Factors of micro-batches: compute of each ÷ the compiled one (microBatchCosts); further ones repeat
  /// them. Empty: all 1.
  std::vector<double> microBatchCosts;
  double expertImbalance = 0;              ///< of ranks that divide experts; 0: there are none
  std::int64_t hottestRank = 0;            ///< the most loaded of them
  std::vector<model::Division> divisions;  ///< tensors that ranks of a place divide; of no executable yet
  /// Rows of the input of one iteration.
  std::int64_t rows() const { return microBatchSize * microBatches * (replicas / inputGroup); }
};

/// Facts of a recorded replica that the clock does not need. It stands for all replicas of the same
/// speed.
struct ReplicaPart {
  std::int64_t members = 1;
  int firstDevice = 0;  ///< index in the system
  int width = 1;        ///< ranks of a place; the first one stands for all, because they do equal work
  int placeStride = 1;  ///< distance between the devices of neighbouring places
  int deviceOf(int place) const { return firstDevice + place * placeStride; }
  /// Contention of flows for links; null if flows take the times that they state.
  std::shared_ptr<LinkContention> contention;
  // Counters by place. They are empty in inference and if nothing is recorded; a counter that a place does
  // not need is not valid.
  std::vector<model::CounterId> liveMicroBatches, stashCounters, liveBytesCounters;
  std::vector<LiveBytes> liveBytes;  ///< live bytes of each place
};

struct EmulatedExecutable {
  model::ExecutableId id;
  ExecutableFacts facts;
  clock::Call call;                ///< the replicas ascend; the first one is replica 0
  std::vector<ReplicaPart> parts;  ///< one for each replica of the call
  std::vector<int> chunkOfStage;   ///< number of earlier stages at the same place, for each stage
  std::vector<std::int64_t> stashEntries;
  std::vector<Bytes> stashBytesPerEntry;  ///< bytes of each stage
  /// A sentence for each operator and device that would compute faster than its peak; a fault of a device
  /// model.
  std::vector<std::string> abovePeak;
  const clock::Order& order() const { return call.orders.front(); }
};

/// Records as properties what a replay needs besides (profiler/replay).
void recordReplayFacts(record::Recorder& recorder, const devices::System& system,
                       const EmulatedExecutable& executable);

/// Records an executable: ways over several links, stages, boundaries, operators, programs, segments, steps,
/// variables, liveness and memory of units. `lowered` has one entry for each device of the first replica that
/// holds a stage. Other replicas get copies, which are slower if facts.scales says so.
EmulatedExecutable recordExecutable(record::Recorder& recorder, const devices::System& system, SystemIds& ids,
                                    const compile::ExecutableIr& ir,
                                    const std::vector<devices::LoweredDevice>& lowered,
                                    schedules::Order order, const ExecutableFacts& facts, RecordLevel level);

}  // namespace pipescope::emulate
