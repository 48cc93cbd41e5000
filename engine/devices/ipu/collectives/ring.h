#pragma once
// Collectives among IPUs, as rings over the links of the ladder. (C: PopLibs,
// popops/ReplicatedCollectives.cpp, for rings, their methods and the sizes at which it changes them;
// Graphcore's GCL documentation for the phases of a collective that reaches several IPU-Link domains.)
#include <string>
#include <vector>

#include "engine/devices/ipu/collectives/ladder.h"
#include "engine/ops/core/work.h"

namespace pipescope::devices::ipu {

/// Ways in which fragments go round a ring of n. `clockwise`: n − 1 exchanges, each of a fragment of 1/n of
/// the tensor. `bidirectionalPair`: half of the tensor goes each way; n − 1 exchanges of half a fragment in
/// both directions. `meetInMiddle`: half of the fragments go each way; n/2 exchanges of a fragment in both
/// directions.
enum class RingMethod : std::uint8_t { clockwise, bidirectionalPair, meetInMiddle };

/// The method for a ring of `members`. `bytes`: what one IPU puts into a reduce-scatter, or into an
/// all-gather. Replicas of several IPUs use one direction, because their rings share the ladder.
RingMethod ringMethod(bool gathers, std::int64_t members, std::int64_t bytes, bool severalIpus);

/// The devices in the order in which a ring visits them: every second one up the ladder, and the others down,
/// so that neighbours in the ring are neighbours on the ladder where possible.
std::vector<int> ringOrder(const std::vector<int>& devices);

/// Devices that communicate with each other.
struct RingGroup {
  std::vector<int> devices;
  /// Bytes that it sends while the group that is looked at sends its tensor, divided by that tensor's; at
  /// most 1.
  double share = 1;
};

/// Equal exchanges that follow one another.
struct CollectivePhase {
  std::string name;                ///< "ReduceScatter"
  bool reduces = false;            ///< an arriving fragment is added to the device's own, else it is kept
  std::int64_t exchanges = 0;      ///< number that follow one another
  std::int64_t fragmentBytes = 0;  ///< bytes that a device sends in each direction in an exchange
  int directions = 1;              ///< directions in which a device sends at the same time
  double seconds = 0;  ///< time of one exchange: the start-up of the links and the bytes on the busiest

  std::int64_t bytesSent() const { return exchanges * directions * fragmentBytes; }
};

/// The phases of a collective of `bytes` (the whole tensor) within each of `groups`, all at the same time.
/// All IPUs sync before each exchange, so it takes as long as the slowest ring needs for its share. An
/// all-reduce is a reduce-scatter and an all-gather. A group that reaches several IPU-Link domains first
/// works within each domain, then with the devices in the same place of the others, through gateways: each
/// of these exchanges only the share that it has of its domain. In an all-to-all and a ring send each device
/// sends over the whole ladder, with `bytes` of its own. Empty: the groups have one member.
/// `severalIpus`: a replica has several.
std::vector<CollectivePhase> collectivePhases(const Ladder& ladder, ops::Collective::Kind kind,
                                              std::int64_t bytes, const std::vector<RingGroup>& groups,
                                              bool severalIpus);

}  // namespace pipescope::devices::ipu
