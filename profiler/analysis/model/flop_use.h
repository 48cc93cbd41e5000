#pragma once
// How much of the devices' peak a run's floating-point operations come to.
#include <optional>
#include <string>
#include <string_view>

#include "profiler/analysis/catalog.h"

namespace pipescope::analysis {

/// Over the executable's last run, one replica. Weight updates, stream copies and loss scaling count nothing.
struct FlopUse {
  double modelFlops = 0;      ///< of forward and backward passes, as if nothing were computed twice
  double recomputeFlops = 0;  ///< of what is computed again
  double seconds = 0;         ///< the run's length
  std::int64_t devices = 0;   ///< that hold a stage
  std::string precision;      ///< of the run: execution.precision
  std::string peakName;       ///< the figure that the peak is: "peak_fp32"
  double peakPerDevice = 0;   ///< FLOP/s; 0: the profile names no peak for this precision
  /// ÷ (devices × peak × seconds); none where that is 0.
  std::optional<double> model, withRecompute;
};

/// An executable without operators or without a run gives zeros.
Result<FlopUse> flopUse(const model::ProfileSource& source, const Catalog& catalog,
                        model::ExecutableId executable);

/// The number of a figure as profiles hold it, "62.65 TFLOP/s; grade …"; none where it is no number of `unit`
/// with a decimal prefix.
std::optional<double> figureValue(std::string_view text, std::string_view unit);

}  // namespace pipescope::analysis
