#pragma once
// Convolutions of one or two spatial axes in float32 without unfolding. A few images at a time are copied
// with their channels side by side and zeros as padding. Then the elements of one kernel row under a window
// are neighbours, and the hot kernels multiply them in place. The input gradient of a strided convolution is
// one convolution of stride 1 for each remainder of positions, so nothing is multiplied by inserted zeros.
// Taps that meet padding everywhere are left out. The shape alone decides the order of sums.
#include <array>

#include "engine/ops/conv/conv_axis.h"
#include "engine/ops/conv/conv_kernels.h"
#include "engine/ops/kernels/kernel_table.h"

namespace pipescope::ops {

class DirectConv {
 public:
  static bool fits(const ConvSetup& setup, ConvPass pass);
  DirectConv(const ConvSetup& setup, ConvPass pass);

  std::int64_t scratchElements() const;
  /// y = x ∗ w. In the pass inputGradient, x is dy and y is dx.
  void run(const KernelArguments& arguments, const float* x, const float* w, const float* bias, bool relu,
           float* y, float* scratch) const;
  void weightGradient(const KernelArguments& arguments, const float* x, const float* dy, float* dw,
                      float* scratch) const;

 private:
  struct Phase {
    const ConvAxisPhase *y = nullptr, *x = nullptr;
    std::int64_t filters = 0;  ///< start of its packed weights
    std::int64_t taps() const { return static_cast<std::int64_t>(y->taps.size() * x->taps.size()); }
  };
  struct Scratch;

  Phase phaseAt(std::size_t index) const;
  std::size_t phases() const { return y_.phases.size() * x_.phases.size(); }
  std::int64_t stagedElements() const { return y_.staged * x_.staged * channels_; }
  std::int64_t lanes() const;
  std::int64_t filterElements() const;
  std::int64_t productElements() const;
  Scratch partsOf(float* scratch) const;
  void stage(const KernelArguments& arguments, const float* x, std::int64_t group, std::int64_t first,
             std::int64_t images, float* staged) const;
  void packFilters(const KernelArguments& arguments, const float* w, std::int64_t group,
                   float* filters) const;
  void packFilterPanel(const Phase& phase, const float* w, std::int64_t panel, float* to) const;
  void multiply(const KernelArguments& arguments, std::size_t phase, std::int64_t images, const Scratch& s,
                bool bias, bool relu) const;
  void multiplyRows(const Phase& phase, std::int64_t row, std::int64_t rows, std::int64_t column,
                    std::int64_t columns, const Scratch& s, bool bias, bool relu) const;
  void unstage(const KernelArguments& arguments, const float* products, std::int64_t group,
               std::int64_t first, std::int64_t images, float* y) const;
  void sumTaps(const KernelArguments& arguments, std::int64_t first, std::int64_t images,
               const Scratch& s) const;
  void unpackSums(const KernelArguments& arguments, const Scratch& s, float* dw) const;

  ConvPass pass_;
  std::int64_t batch_ = 0, groups_ = 1, channels_ = 0,
               filters_ = 0;  ///< channels per group of the source and of the target
  std::int64_t kernelX_ = 1, taps_ = 1;
  ConvAxis y_, x_;
  std::int64_t images_ = 1;                            ///< images that are staged at a time
  std::int64_t rowParts_ = 1, imageParts_ = 1;         ///< parts of the sums for the weight gradient
  std::vector<std::int64_t> segments_;                 ///< offsets of source rows for the weight gradient
  std::vector<std::vector<std::int64_t>> tapOffsets_;  ///< offsets of each phase
};

}  // namespace pipescope::ops
