#pragma once
// Which replicas are emulated: those of equal speed are alike to the tick, so one of them stands for all.
#include <vector>

#include "engine/emulate/executable.h"

namespace pipescope::emulate {

struct ReplicaClass {
  int replica = 0;  ///< its first
  std::int64_t members = 1;
};

/// Ascending by their first replica. Equal are replicas whose devices are scaled alike and whose transfers, alone and
/// all together, take equally long; transfers of different replicas are taken not to meet. With
/// facts.recordAllReplicas each is a class.
std::vector<ReplicaClass> replicaClasses(const devices::System& system, const compile::ExecutablePlan& plan,
                                         const ExecutableFacts& facts);

/// Scale of a device; 1 where nothing is said.
DeviceScale scaleOf(const ExecutableFacts& facts, int device);

/// What the first replica's device does, on the device of the same place in another replica: with its number, and as
/// much slower as facts.scales say. Host and streaming memory are not slower; a collective is as slow as the slowest
/// link among the devices of this place.
devices::LoweredDevice onReplica(const devices::LoweredDevice& first, int replica,
                                 const compile::Replication& replication, const ExecutableFacts& facts);

}  // namespace pipescope::emulate
