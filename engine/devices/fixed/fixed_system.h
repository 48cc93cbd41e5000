#pragma once
// The third, trivial family: costs per stage and pass are given, not modelled. It serves tests, teaching and
// `pipescope schedule`, and keeps the seam to the device families honest.
#include <memory>
#include <vector>

#include "engine/devices/core/device_family.h"

namespace pipescope::devices {

/// Ticks of one cost unit: reports print units.
inline constexpr std::int64_t kFixedTicksPerUnit = 1'000'000;

/// In cost units.
struct FixedStageCost {
  double forward = 0, recompute = 0, backward = 0, update = 0;
  double weight = 0;  ///< weight gradients within backward
};

struct FixedCosts {
  std::vector<FixedStageCost> stages;
  double exchange = 0;         ///< of each boundary copy, whatever else is under way
  double call = 0;             ///< host time of each call
  double collective = 0;       ///< sum of a stage's gradients over replicas, where there are several
  bool splitBackward = false;  ///< weight gradients are a pass of their own
};

/// As many devices as `devices`; at least one.
std::shared_ptr<const System> makeFixedSystem(const FixedCosts& costs, int devices);

}  // namespace pipescope::devices
