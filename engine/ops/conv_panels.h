#pragma once
// Convolutions of up to two spatial axes in float32 without unfolding: panels of 16 output positions (across
// rows and images) and a block of input channels are packed straight from the images, and multiplied by
// packed weights in registers. Sums run over blocks of channels, then channels, then taps: an order of the
// shape alone.
#include "engine/ops/conv_kernels.h"

namespace pipescope::ops {

/// One convolution: x (batch × groups·inChannels × input), y (batch × groups·outChannels × output).
class PanelConv {
 public:
  /// y = x ∗ w.
  static PanelConv forward(const ConvPlan& plan);
  /// The gradient by x as a convolution of dy with the weights turned around; for strides of 1 only.
  static PanelConv inputGradient(const ConvPlan& plan);
  /// Whether this build and the plan allow it; the gradient needs strides of 1.
  static bool fits(const ConvPlan& plan, bool gradient);

  std::int64_t scratchElements() const;
  /// w in the layout of the forward convolution; bias may be null.
  void run(const float* x, const float* w, const float* bias, float* y, float* scratch) const;

 private:
  struct Axis {
    std::int64_t input = 1, output = 1, kernel = 1, stride = 1, dilation = 1, pad = 0;
  };
  struct Piece;
  struct Panel;

  std::int64_t depth() const { return inChannels_ * taps(); }
  std::int64_t taps() const { return y_.kernel * x_.kernel; }
  std::int64_t positions() const { return y_.output * x_.output; }
  /// Channels of one block.
  std::int64_t blockChannels() const;
  Panel panelAt(std::int64_t first) const;
  /// For every six filters, depth × 6; filters beyond the last are zeros.
  void packWeights(const float* w, std::int64_t group, std::int64_t channel, std::int64_t channels,
                   float* packed) const;
  void packPanel(const Panel& panel, const float* x, std::int64_t group, std::int64_t channel,
                 std::int64_t channels, float* packed) const;
  void add(const Panel& panel, std::int64_t group, std::int64_t row, const float* tile, const float* bias,
           bool first, float* y) const;

  std::int64_t batch_ = 0, groups_ = 1, inChannels_ = 0, outChannels_ = 0;
  Axis y_, x_;  ///< outer and inner spatial axis
  bool turned_ = false;
};

}  // namespace pipescope::ops
