#pragma once
// Which device holds which stages of an executable, in each of its replicas; the titles of lanes.
#include <string>
#include <vector>

#include "profiler/analysis/catalog.h"

namespace pipescope::analysis {

/// What a device is to an executable.
struct DevicePlace {
  std::int32_t replica = -1;         ///< −1: the executable does not use the device
  std::vector<std::int32_t> stages;  ///< ascending
};
/// A profile names the devices of the first replica. The other replicas follow with as many devices each.
base::IdVector<model::DeviceId, DevicePlace> devicePlaces(const Catalog& catalog,
                                                          model::ExecutableId executable);

/// As people write it: MME, TPC, DMA, NIC; compute, exchange, host.
std::string laneTitle(model::LaneRole role);

}  // namespace pipescope::analysis
