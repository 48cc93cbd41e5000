#pragma once
// Computes which share of the devices' peak rate a run's floating-point operations use.
#include <optional>
#include <string>
#include <string_view>

#include "profiler/analysis/catalog.h"

namespace pipescope::analysis {

/// FLOP of one replica in the executable's last run. Weight updates, stream copies and loss scaling do not
/// count.
struct FlopUse {
  double modelFlops = 0;      ///< FLOP of forward and backward passes, without recompute
  double recomputeFlops = 0;  ///< FLOP of recompute
  double seconds = 0;         ///< the run's length
  std::int64_t devices = 0;   ///< devices that hold a stage
  std::string precision;      ///< precision of the run: execution.precision
  /// Name of the figure that gives the peak, such as "peak_fp32". Empty: the peak is the mean over the types
  /// in which the FLOP are done.
  std::string peakName;
  double peakPerDevice = 0;  ///< FLOP/s; 0: the profile names no peak for this precision
  /// FLOP ÷ (devices × peak × seconds); none if the product is 0. `model` leaves recompute out.
  std::optional<double> model, withRecompute;
};

/// An executable without operators or without a run gives zeros.
Result<FlopUse> flopUse(const model::ProfileSource& source, const Catalog& catalog,
                        model::ExecutableId executable);

/// Reads the number of a figure such as "62.65 TFLOP/s; grade …". None if the text is no number with a
/// decimal prefix and `unit`.
std::optional<double> figureValue(std::string_view text, std::string_view unit);

}  // namespace pipescope::analysis
