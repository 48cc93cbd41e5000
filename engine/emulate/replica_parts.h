#pragma once
// Which replicas are emulated: those of equal speed are alike to the tick, so one of them stands for all.
#include <map>
#include <set>
#include <vector>

#include "engine/emulate/executable.h"

namespace pipescope::emulate {

/// All that a stage sends to another on another device per micro-batch.
struct StageFlow {
  int fromStage = 0, toStage = 0;
  model::TransferKind kind = model::TransferKind::activation;
  devices::Flow flow;
};
/// In the order of the plan's boundaries, of the replica that begins with this device.
std::vector<StageFlow> stageFlows(const compile::ExecutablePlan& plan, int firstDevice);

/// Flows of all replicas, and which of them meet on links.
class FlowsOfReplicas {
 public:
  FlowsOfReplicas(const devices::System& system, const compile::ExecutablePlan& plan);
  const std::vector<devices::Flow>& of(int replica) const {
    return flows_[static_cast<std::size_t>(replica)];
  }
  /// Flows of each other replica that shares a link with this one.
  std::vector<std::vector<devices::Flow>> beside(int replica) const;

 private:
  std::vector<std::vector<devices::Flow>> flows_;
  std::vector<std::set<std::int64_t>> links_;
  std::map<std::int64_t, std::vector<int>> replicasOn_;
};

struct ReplicaClass {
  int replica = 0;  ///< its first
  std::int64_t members = 1;
};

/// Ascending by their first replica. Equal are replicas whose devices are scaled alike and whose transfers,
/// alone and all together, take equally long. With facts.recordAllReplicas each is a class.
std::vector<ReplicaClass> replicaClasses(const devices::System& system, const compile::ExecutablePlan& plan,
                                         const ExecutableFacts& facts, const FlowsOfReplicas& flows);

/// Scale of a device; 1 where nothing is said.
DeviceScale scaleOf(const ExecutableFacts& facts, int device);

/// What the first replica's device does, on the device of the same place in another replica: with its number,
/// and as much slower as facts.scales say. Host and streaming memory are not slower; a collective is as slow
/// as the slowest link among the devices of this place.
devices::LoweredDevice onReplica(const devices::LoweredDevice& first, int replica,
                                 const compile::Replication& replication, const ExecutableFacts& facts);

}  // namespace pipescope::emulate
