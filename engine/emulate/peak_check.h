#pragma once
// Records the least time of the model's products, and checks that no device computes faster than it can.
#include <string>
#include <vector>

#include "engine/devices/core/device_family.h"
#include "profiler/record/recorder.h"

namespace pipescope::emulate {

/// A sentence for each operator with products, and for each device, whose floating-point operations would
/// need more time at the peak of their types than the device model gives them.
std::vector<std::string> abovePeak(const devices::System& system,
                                   const std::vector<devices::LoweredDevice>& lowered);

/// Records how long the FLOP of a micro-batch take at the peak of their types, summed over the devices of a
/// replica, and the sentences of abovePeak(), which it also returns.
std::vector<std::string> recordLeastTimes(record::Recorder& recorder, const devices::System& system,
                                          model::ExecutableId executable,
                                          const std::vector<devices::LoweredDevice>& lowered);

/// The peak rate of the types in which an operator computes.
struct OperatorPeak {
  model::OperatorId op;
  double flopsPerSecond = 0;
};

/// Records the peaks of operators, which ascend, if they differ. A property lists the operators of each peak:
/// "4.325e+14:0-3,7;8.65e+14:4-6".
void recordOperatorPeaks(record::Recorder& recorder, model::ExecutableId executable,
                         const std::vector<OperatorPeak>& peaks);

}  // namespace pipescope::emulate
