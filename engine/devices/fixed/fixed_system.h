#pragma once
// The trivial family: the configuration states the cost of each stage and pass instead of a device model. It
// serves tests, teaching and `pipescope schedule`, and shows that the interface of the families holds for
// more than two kinds of hardware.
#include <memory>
#include <vector>

#include "engine/devices/core/device_family.h"

namespace pipescope::devices {

/// Ticks of one cost unit. Reports print cost units.
inline constexpr std::int64_t kFixedTicksPerUnit = 1'000'000;

/// All costs are in cost units.
struct FixedStageCost {
  double forward = 0, recompute = 0, backward = 0, update = 0;
  double weight = 0;         ///< the part of `backward` that makes weight gradients
  std::int64_t holds = 0;    ///< bytes that are always there
  std::int64_t stashed = 0;  ///< bytes of micro-batches under way when its device holds most
};

struct FixedCosts {
  std::vector<FixedStageCost> stages;
  int pipes = 1;               ///< ways through the devices, with equally many stages each
  double exchange = 0;         ///< time of each copy from stage to stage, whatever else is under way
  double bandwidth = 0;        ///< bytes of a copy that take one unit more; 0: their number does not matter
  double launch = 0;           ///< time of each pass before its work
  double receive = 0;          ///< time of each pass besides, if its input comes from another device
  double call = 0;             ///< time of the host for each call
  double unitSeconds = 0;      ///< seconds of a cost unit; 0: it is no time
  std::int64_t memory = 0;     ///< bytes of memory of each device; 0: no bound
  double collective = 0;       ///< time of summing a stage's gradients over replicas, if there are several
  bool splitBackward = false;  ///< weight gradients are a pass of their own
};

/// A system of `devices` (at least 1) devices in a row.
std::shared_ptr<const System> makeFixedSystem(const FixedCosts& costs, int devices);

}  // namespace pipescope::devices
