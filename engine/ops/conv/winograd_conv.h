#pragma once
// 3×3 convolutions with stride 1 in float32 by Winograd's minimal filtering: sixteen products of 4 inputs
// each instead of nine of 4, so 2.25 times fewer multiplications. The error is about twice that of the plain
// sum. Tiles of a few images at a time are transformed into scratch memory, multiplied and transformed back.
// The sums run over blocks that the shape alone decides.
#include "engine/ops/conv/conv_kernels.h"
#include "engine/ops/kernels/kernel_table.h"

namespace pipescope::ops {

class WinogradConv {
 public:
  /// True if the convolution can be computed in this way and saves enough.
  static bool fits(const ConvSetup& setup);
  WinogradConv(const ConvSetup& setup, ConvPass pass);

  std::int64_t scratchElements() const;
  /// y = x ∗ w. In the pass inputGradient, x is dy and y is dx. Returns false if a result is infinite or NaN:
  /// a tile spreads such an input over outputs whose windows do not hold it, so the caller must compute it in
  /// another way.
  bool run(const KernelArguments& arguments, const float* x, const float* w, const float* bias, bool relu,
           float* y, float* scratch) const;
  bool weightGradient(const KernelArguments& arguments, const float* x, const float* dy, float* dw,
                      float* scratch) const;

 private:
  /// Tile rows [first, first + count) of all images, one image after another.
  struct Range {
    std::int64_t first = 0, count = 0;
  };
  std::int64_t tiles(const Range& range) const { return range.count * tilesPerRow_; }
  std::int64_t filterElements() const;
  kernels::WinogradTiles tilesOf(std::int64_t image, std::int64_t group, std::int64_t block,
                                 std::int64_t channels, const float* planes, std::int64_t height,
                                 std::int64_t width) const;
  template <class Body>
  void forTileRows(const KernelArguments& arguments, const Range& range, std::int64_t blocks,
                   const Body& body) const;
  void transformFilters(const KernelArguments& arguments, const float* w, std::int64_t group,
                        float* filters) const;
  void transformInput(const KernelArguments& arguments, const Range& range, const float* x,
                      std::int64_t group, float* tiles) const;
  void multiply(const KernelArguments& arguments, const Range& range, const float* tiles,
                const float* filters, float* products) const;
  bool transformOutput(const KernelArguments& arguments, const Range& range, const float* products,
                       const float* bias, bool relu, std::int64_t group, float* y) const;

  ConvPass pass_;
  std::int64_t batch_ = 0, groups_ = 1, inChannels_ = 0, outChannels_ = 0;
  std::int64_t height_ = 0, width_ = 0, outHeight_ = 0, outWidth_ = 0, padTop_ = 0, padLeft_ = 0;
  std::int64_t tileRows_ = 0, tilesPerRow_ = 0;  ///< tiles of an image
  std::int64_t rangeRows_ = 1;                   ///< tile rows that are transformed at a time
};

}  // namespace pipescope::ops
