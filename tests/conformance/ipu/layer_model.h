#pragma once
// Emulates the layers of a table and compares.
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "engine/devices/ipu/chip.h"
#include "engine/devices/ipu/products/planner.h"
#include "tests/conformance/ipu/layer_plan.h"

namespace pipescope::conformance {

struct LayerResult {
  LayerRow row;
  bool modelled = true;
  std::string fault;  ///< reason why there is no figure
  LayerFigures ours;

  bool compared() const { return modelled && fault.empty(); }
};

/// The chips by the table's names of targets, with the plans made on them.
class LayerModel {
 public:
  LayerResult emulate(const LayerRow& row);
  /// The layer's plans, steps with cycles and variables with bytes, for people.
  std::string explain(const LayerRow& row);

 private:
  struct Target {
    devices::ipu::Chip chip;
    std::unique_ptr<devices::ipu::Planner> planner;
  };
  base::Result<Target*> target(const std::string& name, std::int64_t tiles, bool code);
  base::Result<devices::LoweredDevice> lower(const LayerRow& row, devices::ipu::Chip& chip);
  /// Division of the layer's products over the tiles, one line each.
  std::string plansOf(const LayerRow& row);

  std::map<std::tuple<std::string, std::int64_t, bool>, std::unique_ptr<Target>> targets_;
};

}  // namespace pipescope::conformance
