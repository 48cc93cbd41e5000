#pragma once
// Error bands: how far a profile's modelled figures were from measurements.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/analysis/catalog.h"

namespace pipescope::analysis {

/// The error of one kind of figure over several measured points.
struct ErrorBand {
  std::string device;    ///< chip: "mk2"
  std::string kind;      ///< kind of layer: "convolution"
  std::string quantity;  ///< cycles, total_bytes, max_tile_bytes
  std::int64_t points = 0;
  double median = 0;          ///< median of |ln(emulated ÷ measured)|
  std::optional<double> p90;  ///< 90th percentile of the same; bands of few points have none
  double bias = 0;            ///< median of the logarithm, signed
  std::string against;
  /// Errors as shares: 0.1 is "off by a tenth". e^x − 1.
  double medianError() const;
  std::optional<double> p90Error() const;
  double biasShare() const;
};

/// The bands of the profile's devices, in the order of recording. The profile keeps them as properties
/// "band.DEVICE.KIND.QUANTITY"; properties that cannot be read as a band are left out.
std::vector<ErrorBand> errorBandsOf(const Catalog& catalog);

/// The kind of layer that an operator's type belongs to, in the words of the bands. Empty for types that no
/// band covers.
std::string checkedKindOf(std::string_view operatorType);

/// The bands, and how much of an executable's compute time they cover.
struct ErrorBands {
  std::vector<ErrorBand> bands;
  double checkedTicks = 0, computeTicks = 0;  ///< forward, recompute and backward, per micro-batch
  double checkedShare() const { return computeTicks > 0 ? checkedTicks / computeTicks : 0; }
};
/// Reads the bands of the profile's devices, and sums up the time of the operators that they cover.
Result<ErrorBands> errorBands(const model::ProfileSource& source, const Catalog& catalog,
                              model::ExecutableId executable);

}  // namespace pipescope::analysis
