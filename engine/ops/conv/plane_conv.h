#pragma once
// Depthwise convolutions (one channel in each group) of one or two spatial axes in float32, plane by plane,
// because unfolding or packing does not pay for so few multiplications. The shape alone decides the order of
// sums.
#include "engine/ops/conv/conv_kernels.h"

namespace pipescope::ops {

class PlaneConv {
 public:
  static bool fits(const ConvSetup& setup);
  explicit PlaneConv(const ConvSetup& setup);

  void forward(const KernelArguments& arguments, const float* x, const float* w, const float* bias, bool relu,
               float* y) const;
  void inputGradient(const KernelArguments& arguments, const float* dy, const float* w, float* dx) const;
  void weightGradient(const KernelArguments& arguments, const float* x, const float* dy, float* dw) const;

 private:
  /// The outputs [first, end) of an axis whose input under a tap, output · stride + offset, is not padding.
  struct Tap {
    std::int64_t first = 0, end = 0, offset = 0;
  };
  struct Axis {
    std::int64_t input = 1, output = 1, stride = 1;
    std::vector<Tap> taps;
  };
  static Axis axisOf(const Window& w, std::size_t axis);
  std::int64_t taps() const { return static_cast<std::int64_t>(y_.taps.size() * x_.taps.size()); }
  std::int64_t inputs() const { return y_.input * x_.input; }
  std::int64_t positions() const { return y_.output * x_.output; }
  /// Calls body(tap, output row, input row, columns) for the rows of all taps, tap by tap.
  template <class Body>
  void forRows(const Body& body) const;

  std::int64_t batch_ = 0, groups_ = 1, filters_ = 1;  ///< filters of a group
  Axis y_, x_;
};

}  // namespace pipescope::ops
