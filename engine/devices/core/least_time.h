#pragma once
// Computes the least time that floating-point operations take.
#include <functional>
#include <vector>

#include "engine/devices/core/device_family.h"
#include "engine/ops/core/work.h"

namespace pipescope::devices {

/// FLOP/s of the fastest products that multiply in `type` and sum `terms` products each in `sums`; 0: the
/// device has none. `terms` is 0 for operations that are no products.
using PeakOf = std::function<double(graph::ElementType type, graph::ElementType sums, std::int64_t terms)>;

/// Sets LoweredOperator::leastSeconds, `product` and `collective`. Operations that are no products count as
/// if the device did them at the peak of its products in their type.
void addLeastTime(LoweredOperator& lowered, const std::vector<ops::Work>& work, const PeakOf& peakOf);

}  // namespace pipescope::devices
