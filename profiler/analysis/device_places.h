#pragma once
// Which device holds which stages of an executable, in each of its replicas; its clock and its lanes in
// words.
#include <string>
#include <vector>

#include "profiler/analysis/catalog.h"

namespace pipescope::analysis {

/// What a device is to an executable.
struct DevicePlace {
  std::int32_t replica = -1;         ///< −1: the executable does not use the device
  std::vector<std::int32_t> stages;  ///< ascending
};
/// By device. A profile names the devices of the first replica; the others follow it with as many devices
/// each.
std::vector<DevicePlace> devicePlaces(const Catalog& catalog, model::ExecutableId executable);

/// "1.33 GHz"; "MME 1.65 GHz, TPC 1.8 GHz" where the engines of a device have clocks of their own and its
/// ticks are none of them; empty where the profile names none (`fixed`).
std::string clockOf(const Catalog& catalog, const model::Device& device);

/// As people write it: MME, TPC, DMA, NIC; compute, exchange, host.
std::string laneTitle(model::LaneRole role);

}  // namespace pipescope::analysis
