#pragma once
// Convolutions of one or two spatial axes with stride 1 in float32 whose channels or filters are too few to
// fill vectors: positions along a row are the lanes (kernels/isa/row_convolution.h). Images are used in
// place, or copied if they have padding or their rows do not divide into vectors. The shape alone decides the
// order of sums.
#include "engine/ops/conv/conv_kernels.h"
#include "engine/ops/kernels/kernel_table.h"

namespace pipescope::ops {

class RowConv {
 public:
  /// True if the convolution can be computed in this way, and fills more lanes than the other ways do.
  static bool fits(const ConvSetup& setup, ConvPass pass);
  RowConv(const ConvSetup& setup, ConvPass pass);

  std::int64_t scratchElements() const;
  void forward(const KernelArguments& arguments, const float* x, const float* w, const float* bias, bool relu,
               float* y, float* scratch) const;
  void inputGradient(const KernelArguments& arguments, const float* dy, const float* w, float* dx,
                     float* scratch) const;
  void weightGradient(const KernelArguments& arguments, const float* x, const float* dy, float* dw,
                      float* scratch) const;

 private:
  std::int64_t inputElements() const {
    return shape_.channels * sourceHeight_ * sourceWidth_;
  }  ///< the order of x
  std::int64_t outputElements() const { return shape_.filters * shape_.height * shape_.width; }
  std::int64_t weights() const { return shape_.filters * shape_.channels * shape_.kernelY * shape_.kernelX; }
  std::int64_t stagedInput() const { return copiesInput_ ? shape_.inputImage : 0; }
  std::int64_t stagedOutput() const { return copiesOutput_ ? shape_.outputImage : 0; }
  void stageInput(const float* x, float* staged) const;
  void stageOutput(const float* dy, float* staged) const;
  void packFilters(const KernelArguments& arguments, const float* w, float* packed) const;
  template <class Body>
  void forImages(const KernelArguments& arguments, float* scratch, const Body& body) const;

  ConvPass pass_;
  std::int64_t batch_ = 0, groups_ = 1;
  std::int64_t sourceHeight_ = 1, sourceWidth_ = 1, padTop_ = 0, padLeft_ = 0;
  bool copiesInput_ = false, copiesOutput_ = false;
  kernels::RowConvolution shape_;  ///< distances within the copies if copies are made
  std::int64_t tasks_ = 1;         ///< forward and inputGradient: tasks that share images and groups
  std::int64_t images_ = 1;        ///< weightGradient: images at a time
};

}  // namespace pipescope::ops
