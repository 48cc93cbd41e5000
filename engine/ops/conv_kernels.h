#pragma once
// The three products of a convolution, image by image over blocks of unfolded input small enough for the
// cache.
#include "engine/ops/window.h"

namespace pipescope::ops {

/// x: batch × (groups·inChannels) × input; w: (groups·outChannels) × inChannels × kernel;
/// y: batch × (groups·outChannels) × output. Dense, row-major.
struct ConvPlan {
  Window window;
  std::int64_t batch = 0, groups = 1;
  std::int64_t inChannels = 0, outChannels = 0;  ///< per group

  std::int64_t depth() const { return inChannels * window.taps(); }
  /// Output positions of one block.
  std::int64_t blockPositions() const;
  std::int64_t scratchElements() const;
};

/// y = x ∗ w (+ bias where it is not null).
template <class T>
void convForward(const ConvPlan& plan, const T* x, const T* w, const T* bias, T* y, T* scratch);
/// Gradient by x, from the gradient by y.
template <class T>
void convInputGradient(const ConvPlan& plan, const T* dy, const T* w, T* dx, T* scratch);
/// Gradient by w, summed over the batch in ascending order.
template <class T>
void convWeightGradient(const ConvPlan& plan, const T* x, const T* dy, T* dw, T* scratch);

}  // namespace pipescope::ops
