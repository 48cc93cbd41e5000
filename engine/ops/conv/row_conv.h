#pragma once
// Convolutions of one or two spatial axes with strides of 1 in float32, where channels or filters are too few
// to fill vectors: positions along a row are the lanes (kernels/isa/row_convolution.h). Images are used where
// they lie, or copied with their padding where they have some or where rows do not divide into vectors. Sums
// run in an order of the shape.
#include "engine/ops/conv/conv_kernels.h"
#include "engine/ops/kernels/kernel_table.h"

namespace pipescope::ops {

class RowConv {
 public:
  /// Whether the plan can be computed this way, and fills more lanes than the other ways do.
  static bool fits(const ConvPlan& plan, ConvPass pass);
  RowConv(const ConvPlan& plan, ConvPass pass);

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
  }  ///< as it lies in x
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
  kernels::RowConvolution shape_;  ///< distances are those of copies where those are made
  std::int64_t tasks_ = 1;         ///< forward, inputGradient: images and groups are shared out over them
  std::int64_t images_ = 1;        ///< weightGradient: at a time
};

}  // namespace pipescope::ops
