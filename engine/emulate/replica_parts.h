#pragma once
// Decides which replicas are emulated. Replicas of equal speed have equal times to the tick, so one stands
// for all.
#include <map>
#include <set>
#include <vector>

#include "engine/emulate/emulated_executable.h"

namespace pipescope::emulate {

/// All that a stage sends per micro-batch to a stage on another device.
struct StageFlow {
  int fromStage = 0, toStage = 0;
  model::TransferKind kind = model::TransferKind::activation;
  devices::Flow flow;
};
/// Flows of a replica in the order of the boundaries of the IR, between the ranks of this number: every
/// rank of a place sends to the rank of its number in the next place.
std::vector<StageFlow> stageFlows(const compile::ExecutableIr& ir, int replica, int rank = 0);

/// The flows of all replicas and of all ranks in them, and which of them share links.
class FlowsOfReplicas {
 public:
  FlowsOfReplicas(const devices::System& system, const compile::ExecutableIr& ir);
  std::vector<devices::Flow> of(int replica) const;
  /// The flows of the first rank of a replica stand for all. Returns those of each other rank, of this
  /// replica and others, that shares a link with it.
  std::vector<std::vector<devices::Flow>> beside(int replica) const;

 private:
  const compile::ExecutableIr& ir_;
  int width_ = 1;
  /// Empty where links belong to single chips (devices::System::period): then none are shared.
  std::vector<std::vector<devices::Flow>> flows_;  ///< index: replica · width + rank
  std::vector<std::set<std::int64_t>> links_;
  std::map<std::int64_t, std::vector<int>> partsOn_;
};

struct ReplicaClass {
  int replica = 0;  ///< the first replica of the class
  std::vector<int> members;
};

/// Returns the classes of equal replicas, ascending by first replica. Replicas are equal if their devices
/// have the same scales, their transfers take equally long, both alone and all together, and their
/// collectives share links with the same transfers and collectives. With facts.recordAllReplicas each replica
/// is a class of its own. `lowered`: the devices of the first replica.
std::vector<ReplicaClass> replicaClasses(const devices::System& system, const compile::ExecutableIr& ir,
                                         const std::vector<devices::LoweredDevice>& lowered,
                                         const ExecutableFacts& facts, const FlowsOfReplicas& flows);

/// The scale of a device, with factors of 1 if none is configured.
DeviceScale scaleOf(const ExecutableFacts& facts, int device);

/// The slowest compute and the slowest link among the ranks of a place, whose first device is given.
DeviceScale scaleOfPlace(const ExecutableFacts& facts, int firstDevice, int width);

/// Slows a segment down so that its steps still follow each other without a gap.
void slowDown(devices::LoweredSegment& segment, double slowdown);
/// The same with a slowdown of its own for collectives among the ranks of the place. What a step waits for is
/// not recorded: it waits for all steps that had ended when it began.
void slowDown(devices::LoweredSegment& segment, double compute, double exchange);

/// Copies what a device of the first replica does to the device at the same place in another replica, slowed
/// down as facts.scales says. Host copies and streaming memory are not slowed down. A place is as slow as its
/// slowest rank, a collective among its ranks as the slowest link of them, and one over replicas as the
/// slowest link among all that take part.
devices::LoweredDevice onReplica(const devices::LoweredDevice& first, int replica, const compile::Mesh& mesh,
                                 const ExecutableFacts& facts);

}  // namespace pipescope::emulate
