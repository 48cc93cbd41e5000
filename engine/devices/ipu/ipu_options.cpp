#include "engine/devices/ipu/ipu_options.h"

#include <fmt/format.h>

namespace pipescope::devices::ipu {
namespace {

constexpr const char *kMemoryProportion = "available_memory_proportion", *kIoTiles = "io_tiles",
                     *kPartialsType = "partials_type", *kFullyConnectedPass = "fully_connected_pass",
                     *kWideWeightLoads = "use_128bit_conv_unit_load";

/// Poplar takes these numbers only.
base::Status checkIoTiles(std::int64_t tiles) {
  if (tiles == 0 || (tiles >= 32 && tiles <= 192 && tiles % 2 == 0)) return {};
  return base::badInput(fmt::format(
      "execution.io_tiles is {}, but must be an even number from 32 to 192, or 0 for none.", tiles));
}

}  // namespace

std::vector<std::string> settingNames() {
  return {kMemoryProportion, kIoTiles, kPartialsType, kFullyConnectedPass, kWideWeightLoads};
}

base::Result<IpuOptions> readOptions(const std::vector<FamilySetting>& settings) {
  IpuOptions options;
  for (const FamilySetting& setting : settings) {
    if (setting.name == kIoTiles) {
      options.ioTiles = static_cast<std::int64_t>(std::get<double>(setting.value));
      PIPESCOPE_TRY(checkIoTiles(options.ioTiles));
    } else if (setting.name == kPartialsType) {
      options.halfPartials = std::get<std::string>(setting.value) == "float16";
    } else if (setting.name == kFullyConnectedPass) {
      options.jointPlans = std::get<double>(setting.value) != 0;
    } else if (setting.name == kWideWeightLoads) {
      options.wideWeightLoads = std::get<double>(setting.value) != 0;
    } else {
      const double proportion = std::get<double>(setting.value);
      if (!(proportion > 0 && proportion <= 1)) {
        return base::badInput(fmt::format(
            "The available memory proportion is {:g}, but must be above 0 and at most 1.", proportion));
      }
      (setting.device < 0 ? options.memoryProportion : options.memoryProportionOf[setting.device]) =
          proportion;
    }
  }
  return options;
}

}  // namespace pipescope::devices::ipu
