#pragma once
// What a profile's figures are worth: exact, modelled and checked (with how far off), or modelled only.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/analysis/catalog.h"

namespace pipescope::analysis {

/// How far a kind of figure was from what was measured, over some points.
struct WorthBand {
  std::string device;    ///< chip: "mk2"
  std::string kind;      ///< of layer: "convolution"
  std::string quantity;  ///< cycles, total_bytes, max_tile_bytes
  std::int64_t points = 0;
  double median = 0, p90 = 0;  ///< of |ln(emulated ÷ measured)|
  double bias = 0;             ///< median of the logarithm, signed
  std::string against;
  /// As shares: 0.1 is "off by a tenth". e^x − 1.
  double medianError() const;
  double p90Error() const;
  double biasShare() const;
};

/// The bands that the profile carries (properties "band.DEVICE.KIND.QUANTITY"), of the devices it has, in the
/// order of recording. What does not read as a band is left out.
std::vector<WorthBand> worthBands(const Catalog& catalog);

/// The kind of layer, as bands name it, that an operator's type belongs to; empty: of no kind that is
/// checked.
std::string checkedKindOf(std::string_view operatorType);

/// What part of an executable's compute time comes from kinds of layer with a band.
struct Worth {
  std::vector<WorthBand> bands;
  double checkedTicks = 0, computeTicks = 0;  ///< of forward, recompute and backward passes, per micro-batch
  double checkedShare() const { return computeTicks > 0 ? checkedTicks / computeTicks : 0; }
};
Result<Worth> worth(const model::ProfileSource& source, const Catalog& catalog,
                    model::ExecutableId executable);

}  // namespace pipescope::analysis
