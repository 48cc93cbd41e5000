#pragma once
// Says which recorded device stands for a device whose rows a profile does not hold, because another rank or
// replica does equal work at the same ticks.
#include "profiler/analysis/catalog.h"

namespace pipescope::analysis {

/// Returns for each device the one whose rows stand for it in the executable: itself if it is recorded, or
/// the first rank of its place in the first replica of equal speed. None: the executable does not use the
/// device, or nothing is recorded.
base::IdVector<model::DeviceId, model::DeviceId> recordedDevices(const Catalog& catalog,
                                                                 model::ExecutableId executable);

/// "HPU11 is rank 3 of replica 1. It does the same as HPU0 at the same time, which is recorded for both."
/// Empty: the device is recorded itself, or has no work.
std::string recordedText(const Catalog& catalog, model::ExecutableId executable, model::DeviceId device);

}  // namespace pipescope::analysis
