#pragma once
// How far emulated figures are from measured ones, per chip and kind of layer: what conformance programs
// wrote to resources/devices/bands.toml and FAMILY_bands.toml beside it. A figure without a band is modelled,
// but unchecked.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/base/result.h"

namespace pipescope::devices {

struct Band {
  std::string device;    ///< chip: "mk2"
  std::string kind;      ///< of layer: "convolution"
  std::string quantity;  ///< cycles, total_bytes, max_tile_bytes
  std::int64_t points = 0;
  double median = 0, p90 = 0;  ///< of |ln(emulated / measured)|
  double bias = 0;             ///< median of the logarithm, signed
  std::string against;         ///< what was measured

  /// "56 points, median 0.065, p90 0.172, bias -0.061; against …"
  std::string describe() const;
};

/// Errors name the entry and what is wrong with it.
base::Result<std::vector<Band>> parseBands(std::string_view text);
/// The program's own.
base::Result<std::vector<Band>> embeddedBands();

}  // namespace pipescope::devices
