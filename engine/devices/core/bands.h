#pragma once
// Error bands: how far emulated figures are from measured ones, by chip and kind of layer. The conformance
// programs write them to resources/devices/bands.toml and FAMILY_bands.toml. A figure without a band is
// modelled but unchecked.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/base/result.h"

namespace pipescope::devices {

struct Band {
  std::string device;    ///< chip: "mk2"
  std::string kind;      ///< kind of layer: "convolution"
  std::string quantity;  ///< "cycles", "total_bytes" or "max_tile_bytes"
  std::int64_t points = 0;
  double median = 0;          ///< median of |ln(emulated / measured)|
  std::optional<double> p90;  ///< percentile of the same; fewer than five points have none
  double bias = 0;            ///< median of the logarithm, signed
  std::string against;        ///< the measurements, with their source

  /// "56 points, |ln| median 0.065, p90 0.172, bias -0.061; against …"; without p90 if there is none.
  std::string describe() const;
};

/// Fails with a sentence that names the entry and what is wrong with it.
base::Result<std::vector<Band>> parseBands(std::string_view text);
/// The bands that are embedded in the program.
base::Result<std::vector<Band>> embeddedBands();
/// Returns the widest p90 of |ln(emulated / measured)| among the times that were measured on a chip, over all
/// kinds of layers and steps. Returns none if nothing was checked, or if the bands cannot be read.
std::optional<double> widestTimeError(const std::string& chip);

}  // namespace pipescope::devices
