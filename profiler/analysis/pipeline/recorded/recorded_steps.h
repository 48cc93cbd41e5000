#pragma once
// Reads the steps of accelerators and hosts in an imported trace whose passes nobody recognised.
#include "profiler/analysis/pipeline/device_sums.h"
#include "profiler/analysis/pipeline/recorded/recorded_work.h"

namespace pipescope::analysis {

/// Adds the steps of such a device to its sums. It reads some segments at a time, so
/// that memory does not grow with the length of the trace.
base::Status addRecordedSteps(const model::ProfileSource& source, const Catalog& catalog, RecordedWork& work,
                              DeviceSums& device, base::Progress& progress);

}  // namespace pipescope::analysis
