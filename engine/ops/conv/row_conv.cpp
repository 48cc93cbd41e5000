#include "engine/ops/conv/row_conv.h"

#include <algorithm>

#include "engine/ops/conv/direct_conv.h"
#include "engine/ops/conv/winograd_conv.h"
#include "engine/ops/core/rounding.h"
#include "engine/ops/kernels/choose.h"

namespace pipescope::ops {
namespace {

using kernels::kernelTable;
using kernels::kPanel;

/// Lanes of the widest vectors of positions.
constexpr std::int64_t kLanes = 8;
/// Multiplications of a task, and the most tasks; each task has copies of its own.
constexpr std::int64_t kRowConvTaskWork = std::int64_t{1} << 19, kMostTasks = 32;
/// Images whose weight gradients form one sum, and elements that are copied at a time.
constexpr std::int64_t kMostImages = 64, kRowConvStagedElements = std::int64_t{1} << 20;
/// The number of tasks wanted for a weight gradient, and the number of filters in a task is a multiple of
/// this.
constexpr std::int64_t kWeightTasks = 16, kFilterStep = 5;
/// Percent by which more of the lanes must be filled, because other ways do less for each vector; and the
/// percent that counts for unfolding, which is the alternative for gradients by the input and costs about as
/// much as multiplying.
constexpr std::int64_t kBetter = 125, kUnfolding = 200;

}  // namespace

bool RowConv::fits(const ConvSetup& setup, ConvPass pass) {
  const Window& w = setup.window;
  if (w.axes() > 2 || setup.batch < 1 || w.taps() < 2 || WinogradConv::fits(setup)) return false;
  for (std::size_t axis = 0; axis < w.axes(); ++axis) {
    if (w.stride[axis] != 1 || w.output[axis] < 1 || w.padBegin[axis] < 0 || w.padEnd[axis] < 0) return false;
  }
  const std::int64_t width = w.output.back();
  if (width < kLanes) return false;
  // Lanes that either way takes, in percent of the lanes that do useful work.
  const std::int64_t own = roundUp(width, kLanes) * 100 / width;
  const bool gradient = pass == ConvPass::inputGradient;
  const std::int64_t results = gradient ? setup.inChannels : setup.outChannels;
  std::int64_t other = kUnfolding;
  if (DirectConv::fits(setup, pass)) {
    other = roundUp(results, kPanel) * 100 / results;
    if (gradient) other = other * w.inputs() / w.positions();
  }
  return own * kBetter <= other * 100;
}

RowConv::RowConv(const ConvSetup& setup, ConvPass pass)
    : pass_(pass), batch_(setup.batch), groups_(setup.groups) {
  const Window& w = setup.window;
  const std::size_t x = w.axes() - 1;
  shape_.channels = setup.inChannels;
  shape_.filters = setup.outChannels;
  shape_.width = w.output[x];
  shape_.kernelX = w.kernel[x];
  shape_.dilationX = w.dilation[x];
  sourceWidth_ = w.input[x];
  padLeft_ = w.padBegin[x];
  shape_.height = 1;
  if (w.axes() == 2) {
    shape_.height = w.output[0];
    shape_.kernelY = w.kernel[0];
    shape_.dilationY = w.dilation[0];
    sourceHeight_ = w.input[0];
    padTop_ = w.padBegin[0];
  }
  copiesOutput_ = pass != ConvPass::forward && shape_.width % kLanes != 0;
  copiesInput_ = shape_.width % kLanes != 0;
  for (std::size_t axis = 0; axis < w.axes(); ++axis)
    copiesInput_ = copiesInput_ || w.padBegin[axis] > 0 || w.padEnd[axis] > 0;
  const std::int64_t width =
      copiesInput_ ? roundUp(shape_.width, kLanes) + (shape_.kernelX - 1) * shape_.dilationX : sourceWidth_;
  const std::int64_t height =
      copiesInput_ ? shape_.height + (shape_.kernelY - 1) * shape_.dilationY : sourceHeight_;
  shape_.inputRow = width;
  shape_.inputPlane = height * width;
  // Copies of one group lie together; in x and y the other groups lie between two images.
  shape_.inputImage = shape_.channels * shape_.inputPlane * (copiesInput_ ? 1 : groups_);
  shape_.outputRow = copiesOutput_ ? roundUp(shape_.width, kLanes) : shape_.width;
  shape_.outputPlane = shape_.height * shape_.outputRow;
  shape_.outputImage = shape_.filters * shape_.outputPlane * (copiesOutput_ ? 1 : groups_);
  const std::int64_t all = batch_ * groups_, work = all * shape_.height * shape_.width * weights();
  tasks_ = std::clamp<std::int64_t>(ceilDiv(work, kRowConvTaskWork), 1, std::min(all, kMostTasks));
  images_ = std::min(batch_, kMostImages);
  if (const std::int64_t copied = stagedInput() + stagedOutput(); copied > 0)
    images_ = std::clamp<std::int64_t>(kRowConvStagedElements / copied, 1, images_);
}

std::int64_t RowConv::scratchElements() const {
  const std::int64_t copied = roundUp(stagedInput() + stagedOutput(), kPanel);
  if (pass_ == ConvPass::weightGradient) return images_ * copied;
  return 2 * groups_ * weights() + kPanel + tasks_ * copied;
}

void RowConv::stageInput(const float* x, float* staged) const {
  std::fill_n(staged, shape_.inputImage, 0.0F);
  const std::int64_t height = shape_.inputPlane / shape_.inputRow;
  for (std::int64_t channel = 0; channel < shape_.channels; ++channel) {
    for (std::int64_t row = 0; row < sourceHeight_ && row + padTop_ < height; ++row) {
      std::copy_n(x + (channel * sourceHeight_ + row) * sourceWidth_, sourceWidth_,
                  staged + channel * shape_.inputPlane + (row + padTop_) * shape_.inputRow + padLeft_);
    }
  }
}

void RowConv::stageOutput(const float* dy, float* staged) const {
  std::fill_n(staged, shape_.outputImage, 0.0F);
  for (std::int64_t row = 0; row < shape_.filters * shape_.height; ++row)
    std::copy_n(dy + row * shape_.width, shape_.width, staged + row * shape_.outputRow);
}

void RowConv::packFilters(const KernelArguments& arguments, const float* w, float* packed) const {
  arguments.parallel(groups_, [&](std::int64_t group) {
    kernelTable().rowFilters(shape_, w + group * weights(), pass_ == ConvPass::inputGradient,
                             packed + 2 * group * weights());
  });
}

/// Calls body(image · groups + group, packed weights, copies of the task).
template <class Body>
void RowConv::forImages(const KernelArguments& arguments, float* scratch, const Body& body) const {
  const std::int64_t all = batch_ * groups_;
  float* copies = scratch + roundUp(2 * groups_ * weights(), kPanel);
  arguments.parallel(tasks_, [&](std::int64_t task) {
    float* own = copies + task * roundUp(stagedInput() + stagedOutput(), kPanel);
    for (std::int64_t image = all * task / tasks_; image < all * (task + 1) / tasks_; ++image)
      body(image, scratch + 2 * (image % groups_) * weights(), own);
  });
}

void RowConv::forward(const KernelArguments& arguments, const float* x, const float* w, const float* bias,
                      bool relu, float* y, float* scratch) const {
  packFilters(arguments, w, scratch);
  forImages(arguments, scratch, [&](std::int64_t image, const float* packed, float* copy) {
    const float* from = x + image * inputElements();
    if (copiesInput_) stageInput(from, copy);
    kernelTable().rowForward(shape_, copiesInput_ ? copy : from, packed,
                             bias ? bias + image % groups_ * shape_.filters : nullptr, relu,
                             y + image * outputElements());
  });
}

void RowConv::inputGradient(const KernelArguments& arguments, const float* dy, const float* w, float* dx,
                            float* scratch) const {
  packFilters(arguments, w, scratch);
  forImages(arguments, scratch, [&](std::int64_t image, const float* packed, float* copy) {
    const float* from = dy + image * outputElements();
    float* to = dx + image * inputElements();
    if (copiesOutput_) stageOutput(from, copy + stagedInput());
    float* sums = copiesInput_ ? copy : to;
    std::fill_n(sums, shape_.channels * shape_.inputPlane, 0.0F);
    kernelTable().rowInputGradient(shape_, copiesOutput_ ? copy + stagedInput() : from, packed, sums);
    if (!copiesInput_) return;
    for (std::int64_t row = 0; row < shape_.channels * sourceHeight_; ++row) {
      std::copy_n(sums + row / sourceHeight_ * shape_.inputPlane +
                      (row % sourceHeight_ + padTop_) * shape_.inputRow + padLeft_,
                  sourceWidth_, to + row * sourceWidth_);
    }
  });
}

void RowConv::weightGradient(const KernelArguments& arguments, const float* x, const float* dy, float* dw,
                             float* scratch) const {
  const std::int64_t copied = roundUp(stagedInput() + stagedOutput(), kPanel);
  const std::int64_t rows = shape_.channels * shape_.kernelY;
  // Splits the filters if channels and taps alone give too few tasks.
  const std::int64_t wanted = std::max<std::int64_t>(1, ceilDiv(kWeightTasks, groups_ * rows)),
                     filters =
                         std::min(shape_.filters, roundUp(ceilDiv(shape_.filters, wanted), kFilterStep)),
                     filterParts = ceilDiv(shape_.filters, filters);
  kernels::RowConvolution own = shape_;
  // The copies of an image's input and output lie one after the other.
  if (copiesInput_) own.inputImage = copied;
  if (copiesOutput_) own.outputImage = copied;
  for (std::int64_t group = 0; group < groups_; ++group) {
    for (std::int64_t first = 0; first < batch_; first += images_) {
      const std::int64_t images = std::min(images_, batch_ - first), image = first * groups_ + group;
      const float *from = x + image * inputElements(), *up = dy + image * outputElements();
      if (copied > 0) {
        arguments.parallel(images, [&](std::int64_t i) {
          if (copiesInput_) stageInput(from + i * groups_ * inputElements(), scratch + i * copied);
          if (copiesOutput_)
            stageOutput(up + i * groups_ * outputElements(), scratch + i * copied + stagedInput());
        });
      }
      const float *inputs = copiesInput_ ? scratch : from,
                  *outputs = copiesOutput_ ? scratch + stagedInput() : up;
      arguments.parallel(rows * filterParts, [&](std::int64_t task) {
        const std::int64_t row = task / filterParts, filter = task % filterParts * filters;
        kernels::RowConvolution part = own;
        part.filters = std::min(filters, shape_.filters - filter);
        kernelTable().rowWeightGradient(part, images, row / shape_.kernelY, row % shape_.kernelY, inputs,
                                        outputs + filter * shape_.outputPlane, first > 0,
                                        dw + group * weights() + filter * weights() / shape_.filters);
      });
    }
  }
}

}  // namespace pipescope::ops
