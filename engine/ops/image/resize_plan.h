#pragma once
// Resizing along each axis by itself: every output position is a weighted sum of a few input positions.
#include "engine/ops/core/shape_tools.h"

namespace pipescope::ops {

/// One axis. Position j of the output is Σ weights[j·taps + k] · input[places[j·taps + k]].
struct ResizeAxis {
  std::int64_t in = 1, out = 1;
  std::int64_t taps = 1;
  Ints places;
  std::vector<double> weights;
  std::vector<bool> outside;  ///< tf_crop_and_resize: positions that take the extrapolation value; else empty
};

struct ResizePlan {
  Shape input, output;
  std::vector<ResizeAxis> axes;
  bool moves = false;  ///< nearest: elements are only moved
  double extrapolation = 0;
  bool hasOutside = false;

  /// Axes that change.
  std::vector<std::size_t> passes() const;
};

/// `none`: only the output's shape is worked out, so that nothing takes memory before somebody looked at it.
enum class ResizeTables { none, made };

/// Resize (opset 13 on): inputs X, roi, scales, sizes, of which `first` is roi's place. The input's shape is
/// given.
Result<ResizePlan> resizePlan(const OperatorCall& call, const Shape& input, std::size_t first,
                              ResizeTables tables);
/// Upsample (opset 9): scales is input 1.
Result<ResizePlan> upsamplePlan(const OperatorCall& call, const Shape& input, ResizeTables tables);

}  // namespace pipescope::ops
