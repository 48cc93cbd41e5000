#pragma once
// Says which device holds which stages of an executable in each replica.
#include <string>
#include <vector>

#include "profiler/analysis/catalog.h"

namespace pipescope::analysis {

/// The place of a device in an executable.
struct DevicePlace {
  std::int32_t replica = -1;         ///< −1: the executable does not use the device
  std::int32_t rank = 0;             ///< number among the ranks that share the work of the place
  std::vector<std::int32_t> stages;  ///< ascending
};
/// A profile names the devices of the first replica. Each further replica takes the same number of devices
/// after them; in a recorded run, those that compute its stages.
base::IdVector<model::DeviceId, DevicePlace> devicePlaces(const Catalog& catalog,
                                                          model::ExecutableId executable);

}  // namespace pipescope::analysis
