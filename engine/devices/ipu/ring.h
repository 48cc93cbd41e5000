#pragma once
// Collectives among IPUs, as rings over the links of the ladder.
#include <vector>

#include "engine/devices/ipu/ladder.h"
#include "engine/ops/core/work.h"

namespace pipescope::devices::ipu {

/// The devices in the order in which a ring visits them: up one side of the ladder and down the other, so
/// that neighbours in the ring are neighbours on the ladder where possible.
std::vector<int> ringOrder(std::vector<int> devices);

/// Seconds of a collective of `bytes` (the whole tensor) within each of `groups`, all at the same time. In a
/// ring of n, each of n − 1 steps sends a share of 1/n to the next device. An all-reduce is a reduce-scatter
/// and an all-gather: 2(n − 1)/n · bytes/β + 2(n − 1)α. β is the rate that the most loaded link leaves, α the
/// ladder's collectiveStartup. A group of one takes no time.
double collectiveSeconds(const Ladder& ladder, ops::Collective::Kind kind, std::int64_t bytes,
                         const std::vector<std::vector<int>>& groups);

}  // namespace pipescope::devices::ipu
