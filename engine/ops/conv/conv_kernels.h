#pragma once
// The three products of a convolution. In float32 by Winograd's filtering, straight from images with channels
// side by side (winograd_conv.h, direct_conv.h), with rows as lanes where channels are few (row_conv.h), or
// plane by plane where each has filters of its own (plane_conv.h), where those fit; else image by image over
// blocks of unfolded input small enough for the cache.
#include <memory>

#include "engine/ops/core/window.h"

namespace pipescope::ops {

/// x: batch × (groups·inChannels) × input; w: (groups·outChannels) × inChannels × kernel;
/// y: batch × (groups·outChannels) × output. Dense, row-major.
struct ConvPlan {
  Window window;
  std::int64_t batch = 0, groups = 1;
  std::int64_t inChannels = 0, outChannels = 0;  ///< per group

  std::int64_t depth() const { return inChannels * window.taps(); }
  std::int64_t weights() const { return groups * outChannels * depth(); }
  /// Output positions of one block.
  std::int64_t blockPositions() const;
};

enum class ConvPass { forward, inputGradient, weightGradient };

class WinogradConv;
class DirectConv;
class RowConv;
class PlaneConv;

/// One of the three made ready. Copies share what is immutable.
template <class T>
class Convolution {
 public:
  Convolution(const ConvPlan& plan, ConvPass pass);

  std::int64_t scratchElements() const { return scratchElements_; }
  /// y = x ∗ w (+ bias where it is not null), then max(·, 0) where it is asked for.
  void forward(const KernelArguments& arguments, const T* x, const T* w, const T* bias, bool relu, T* y,
               T* scratch) const;
  /// Gradient by x, from the gradient by y.
  void inputGradient(const KernelArguments& arguments, const T* dy, const T* w, T* dx, T* scratch) const;
  /// Gradient by w, summed over the batch in an order of the shape.
  void weightGradient(const KernelArguments& arguments, const T* x, const T* dy, T* dw, T* scratch) const;

 private:
  ConvPlan plan_;
  std::int64_t scratchElements_ = 0;
  std::shared_ptr<const WinogradConv>
      winograd_;  ///< null: another way; tried first, all its results being finite
  std::shared_ptr<const DirectConv> direct_;
  std::shared_ptr<const RowConv> rows_;
  std::shared_ptr<const PlaneConv> planes_;
};

}  // namespace pipescope::ops
