#pragma once
// The three products of a convolution. In float32 they choose, if the shape fits, Winograd's filtering
// (winograd_conv.h), images with channels side by side (direct_conv.h), rows as lanes for few channels
// (row_conv.h), or plane by plane if each plane has its own filters (plane_conv.h). Otherwise they go image
// by image over blocks of unfolded input that fit into the cache.
#include <memory>

#include "engine/ops/core/window.h"

namespace pipescope::ops {

/// x: batch × (groups·inChannels) × input; w: (groups·outChannels) × inChannels × kernel;
/// y: batch × (groups·outChannels) × output. Dense, row-major.
struct ConvSetup {
  Window window;
  std::int64_t batch = 0, groups = 1;
  std::int64_t inChannels = 0, outChannels = 0;  ///< both per group

  std::int64_t depth() const { return inChannels * window.taps(); }
  std::int64_t weights() const { return groups * outChannels * depth(); }
  /// The output positions of one block.
  std::int64_t blockPositions() const;
};

enum class ConvPass { forward, inputGradient, weightGradient };

class WinogradConv;
class DirectConv;
class RowConv;
class PlaneConv;

/// One of the three products, ready to run. Copies share everything that does not change.
template <class T>
class Convolution {
 public:
  Convolution(const ConvSetup& setup, ConvPass pass);

  std::int64_t scratchElements() const { return scratchElements_; }
  /// y = x ∗ w, plus the bias if it is not null, then max(·, 0) if asked for.
  void forward(const KernelArguments& arguments, const T* x, const T* w, const T* bias, bool relu, T* y,
               T* scratch) const;
  /// The gradient by x, from the gradient by y.
  void inputGradient(const KernelArguments& arguments, const T* dy, const T* w, T* dx, T* scratch) const;
  /// The gradient by w, summed over the batch in an order that the shape decides.
  void weightGradient(const KernelArguments& arguments, const T* x, const T* dy, T* dw, T* scratch) const;

 private:
  ConvSetup setup_;
  std::int64_t scratchElements_ = 0;
  std::shared_ptr<const WinogradConv> winograd_;  ///< null: another way is used; otherwise tried first, and
                                                  ///< kept if all its results are finite
  std::shared_ptr<const DirectConv> direct_;
  std::shared_ptr<const RowConv> rows_;
  std::shared_ptr<const PlaneConv> planes_;
};

}  // namespace pipescope::ops
