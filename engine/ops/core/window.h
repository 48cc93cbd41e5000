#pragma once
// Sliding windows: the geometry of convolutions and poolings, as ONNX defines it.
#include <array>

#include "engine/ops/core/operator.h"

namespace pipescope::ops {

inline constexpr std::size_t kMaxSpatialAxes = 6;
inline constexpr std::int64_t kMostWindowExtent = 1'000'000'000;

/// One extent per spatial axis, outermost first.
struct Window {
  std::vector<std::int64_t> input, kernel, output;
  std::vector<std::int64_t> stride, dilation, padBegin, padEnd;

  std::size_t axes() const { return input.size(); }
  std::int64_t inputs() const { return graph::elementCount(input); }
  std::int64_t taps() const { return graph::elementCount(kernel); }
  std::int64_t positions() const { return graph::elementCount(output); }
  /// The padding at the begin of each axis, then at the end of each axis, in the order of Work.
  std::vector<std::int64_t> padding() const;
  /// True if a single kernel tap covers each input once, in order.
  bool isIdentity() const;
};

/// The `count` numbers of an attribute, each from `least` to kMostWindowExtent; if it is missing, all are
/// `fallback`.
Result<std::vector<std::int64_t>> numbersPerAxis(const OperatorCall& call, const std::string& name,
                                                 std::size_t count, std::int64_t fallback,
                                                 std::int64_t least);

/// Reads strides, dilations, pads, auto_pad and ceil_mode for a window of `kernel` over the spatial axes of
/// `input` (batch, channels, spatial …). With ceil_mode, a last window that would start in the end padding is
/// dropped, as in PyTorch and in ONNX from opset 22 on. Errors name node, axis and figures.
Result<Window> windowOf(const OperatorCall& call, const Shape& input,
                        const std::vector<std::int64_t>& kernel);

/// The Work of a pooling with this function.
Pool poolOf(const TensorType& x, const Window& window, PoolFunction function);
/// The batch, the channels and the window's output.
Shape pooledShape(const OperatorCall& call, const Window& window);
/// Adds the gradient operator of a pooling that needs its input and output: x, y, dy → dx. It has the
/// attributes of the forward node except `dropped`. The kernel of a Global… pooling is its whole input.
Status addPoolGradient(GradientBuilder& builder, const std::string& op, const std::string& dropped = "");
/// Infers the types of such a gradient.
Result<std::vector<TensorType>> inferPoolGradient(const OperatorCall& call, const Window& window);

/// A position within up to kMaxSpatialAxes extents, in row-major order.
class Odometer {
 public:
  Odometer(const std::int64_t* extents, std::size_t axes) : extents_(extents), axes_(axes) {}
  std::int64_t operator[](std::size_t axis) const { return at_[axis]; }
  /// Steps to the next position; from the last one, back to the first.
  void next() {
    for (std::size_t axis = axes_; axis-- > 0;) {
      if (++at_[axis] < extents_[axis]) return;
      at_[axis] = 0;
    }
  }
  void set(std::int64_t flat) {
    for (std::size_t axis = axes_; axis-- > 0;) {
      at_[axis] = flat % extents_[axis];
      flat /= extents_[axis];
    }
  }

 private:
  const std::int64_t* extents_;
  std::size_t axes_;
  std::array<std::int64_t, kMaxSpatialAxes> at_{};
};

}  // namespace pipescope::ops
