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
/// Flows of the replica that begins with `firstDevice`, in the order of the boundaries of the plan.
std::vector<StageFlow> stageFlows(const compile::ExecutablePlan& plan, int firstDevice);

/// The flows of all replicas, and which replicas share links.
class FlowsOfReplicas {
 public:
  FlowsOfReplicas(const devices::System& system, const compile::ExecutablePlan& plan);
  const std::vector<devices::Flow>& of(int replica) const {
    return flows_[static_cast<std::size_t>(replica)];
  }
  /// The flows of each other replica that shares a link with this one.
  std::vector<std::vector<devices::Flow>> beside(int replica) const;

 private:
  std::vector<std::vector<devices::Flow>> flows_;
  std::vector<std::set<std::int64_t>> links_;
  std::map<std::int64_t, std::vector<int>> replicasOn_;
};

struct ReplicaClass {
  int replica = 0;  ///< the first replica of the class
  std::int64_t members = 1;
};

/// Returns the classes of equal replicas, ascending by first replica. Replicas are equal if their devices
/// have the same scales and their transfers take equally long, both alone and all together. With
/// facts.recordAllReplicas each replica is a class of its own.
std::vector<ReplicaClass> replicaClasses(const devices::System& system, const compile::ExecutablePlan& plan,
                                         const ExecutableFacts& facts, const FlowsOfReplicas& flows);

/// The scale of a device, with factors of 1 if none is configured.
DeviceScale scaleOf(const ExecutableFacts& facts, int device);

/// Slows a segment down so that its steps still follow each other without a gap.
void slowDown(devices::LoweredSegment& segment, double slowdown);

/// Copies what a device of the first replica does to the device at the same place in another replica, slowed
/// down as facts.scales says. Host copies and streaming memory are not slowed down. A collective is as slow
/// as the slowest link among the devices at this place.
devices::LoweredDevice onReplica(const devices::LoweredDevice& first, int replica, const compile::Mesh& mesh,
                                 const ExecutableFacts& facts);

}  // namespace pipescope::emulate
