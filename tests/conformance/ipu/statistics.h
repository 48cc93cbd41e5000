#pragma once
// Compares emulated figures with measured ones: |ln(ours ÷ theirs)|.
#include <map>
#include <string>
#include <vector>

#include "tests/conformance/ipu/layer_model.h"

namespace pipescope::conformance {

struct ErrorFigures {
  std::int64_t points = 0;
  double median = 0, p90 = 0, worst = 0;  ///< percentiles of |ln(ours ÷ theirs)|
  double bias = 0;                        ///< median of ln(ours ÷ theirs)
};

/// Computes the figures from logarithms of ratios.
ErrorFigures errorsOf(std::vector<double> logarithms);

enum class Quantity { cycles, totalBytes, maxTileBytes };
inline constexpr Quantity kQuantities[] = {Quantity::cycles, Quantity::totalBytes, Quantity::maxTileBytes};
std::string toString(Quantity quantity);
double logarithmOf(const LayerResult& result, Quantity quantity);

/// The common name of a tool's layers: "convolution", "fully connected" …
std::string kindOfTool(const std::string& tool);

/// Errors of one target, kind and quantity.
struct KindErrors {
  std::string target, kind;
  Quantity quantity = Quantity::cycles;
  ErrorFigures errors;
  /// Median |ln| of the kind after subtracting the common bias of all other kinds of the target: the error
  /// that would remain if the other kinds alone had set the model right.
  double leaveOneOut = 0;
  std::int64_t failed = 0;  ///< rows without a figure
};
std::vector<KindErrors> errorsByKind(const std::vector<LayerResult>& results);

}  // namespace pipescope::conformance
