#pragma once
// The settings that only IPUs take.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/devices/core/system_options.h"
#include "profiler/base/result.h"

namespace pipescope::devices::ipu {

/// Names of the settings, as FamilySetting::name has them: "available_memory_proportion" (a number, for all
/// devices or one), "io_tiles" (a number), "partials_type" ("float16" or "float32"),
/// "fully_connected_pass" and "use_128bit_conv_unit_load" (0 or 1).
std::vector<std::string> settingNames();

struct IpuOptions {
  /// Share of a tile's memory that the temporaries of one product or convolution may take, above 0 and at
  /// most 1.
  double memoryProportion = 0.6;
  std::map<int, double> memoryProportionOf;  ///< proportion by device index, where it differs
  std::int64_t ioTiles = 0;      ///< tiles of each chip that only carry data in and out; the others compute
  bool halfPartials = false;     ///< products of float16 operands keep their sums in float16 too
  bool jointPlans = true;        ///< the three products of a trained layer may share one plan
  bool wideWeightLoads = false;  ///< the AMP loads its weights 128 bits at a time instead of 64

  double proportionOf(int device) const {
    const auto own = memoryProportionOf.find(device);
    return own == memoryProportionOf.end() ? memoryProportion : own->second;
  }
};

/// Fails with a sentence if a proportion is out of its range.
base::Result<IpuOptions> readOptions(const std::vector<FamilySetting>& settings);

}  // namespace pipescope::devices::ipu
