#pragma once
// Resizes along each axis separately: every output position is a weighted sum of a few input positions.
#include "engine/ops/core/shape_tools.h"

namespace pipescope::ops {

/// One axis. Position j of the output is Σ weights[j·taps + k] · input[places[j·taps + k]].
struct ResizeAxis {
  std::int64_t in = 1, out = 1;
  std::int64_t taps = 1;
  Ints places;
  std::vector<double> weights;
  /// Positions that take the extrapolation value with tf_crop_and_resize; otherwise empty.
  std::vector<bool> outside;
};

struct ResizeSetup {
  Shape input, output;
  std::vector<ResizeAxis> axes;
  bool moves = false;  ///< nearest: elements only move
  double extrapolation = 0;
  bool hasOutside = false;

  /// The axes that change.
  std::vector<std::size_t> passes() const;
};

/// Choice of what to compute. `none` computes only the output's shape, so that no memory is taken before the
/// caller has checked it.
enum class ResizeTables { none, made };

/// Resize (from opset 13): inputs X, roi, scales and sizes, where roi is input `first`. The input's shape is
/// given.
Result<ResizeSetup> resizeSetup(const OperatorCall& call, const Shape& input, std::size_t first,
                                ResizeTables tables);
/// Upsample (opset 9), whose scales are input 1.
Result<ResizeSetup> upsampleSetup(const OperatorCall& call, const Shape& input, ResizeTables tables);

}  // namespace pipescope::ops
