#include "engine/devices/ipu/products/conv_shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace pipescope::devices::ipu {
namespace {

/// The most elements of an operand or result: far beyond any memory, and far below an overflow.
constexpr std::int64_t kMaximumElements = std::int64_t{1} << 40;
constexpr std::int64_t kMaximumExtent = std::int64_t{1} << 31;

ConvDim forwardDim(const ops::Contraction& c, std::size_t i) {
  ConvDim dim;
  dim.input = c.field[i];
  dim.kernel = c.kernel[i];
  dim.output = c.output[i];
  dim.stride = c.stride[i];
  dim.kernelDilation = c.dilation[i];
  dim.padding = c.padding[i] + c.padding[i + c.field.size()];
  return dim;
}

/// The convolution that carries a gradient (or the input of a transposed convolution) back: input and output
/// change places, and strides become dilation.
ConvDim reversed(const ConvDim& dim) {
  ConvDim back;
  back.input = dim.output;
  back.kernel = dim.kernel;
  back.output = dim.input;
  back.inputDilation = dim.stride;
  back.kernelDilation = dim.kernelDilation;
  back.padding = std::max<std::int64_t>(0, 2 * (dim.kernel - 1) * dim.kernelDilation - dim.padding);
  return back;
}

/// The same product without the zeros between inputs, if each of them only makes results of zero, which are
/// put between the others afterwards (C: PopLibs, ConvModel.cpp, canDeferDilation).
ConvDim withDeferredDilation(ConvDim dim) {
  if (dim.kernel == 1 && dim.stride == 1 && dim.padding == 0 && dim.inputDilation > 1) {
    dim.inputDilation = 1;
    dim.output = dim.input;
  }
  return dim;
}

/// The convolution that gives the kernel's gradient: the output's gradient acts as a kernel that slides over
/// the input.
ConvDim ofKernel(const ConvDim& dim) {
  ConvDim update;
  update.input = dim.input;
  update.kernel = dim.output;
  update.output = dim.kernel;
  update.stride = dim.kernelDilation;
  update.kernelDilation = dim.stride;
  update.padding = dim.padding;
  return update;
}

base::Error refuse(const std::string& what, const std::string& why) {
  return base::badInput(fmt::format("{}: {}.", what, why));
}

base::Status checkType(const ops::Contraction& c, const std::string& what) {
  const auto allowed = [](ElementType type) {
    return type == ElementType::float32 || type == ElementType::float16;
  };
  if (!allowed(c.type) && !graph::isFloat8(c.type)) {
    return refuse(what,
                  fmt::format("an IPU cannot multiply {}; use float16 or float32", graph::toString(c.type)));
  }
  if (!allowed(c.accumulate)) {
    return refuse(what, fmt::format("an IPU cannot sum products in {}; use float16 or float32",
                                    graph::toString(c.accumulate)));
  }
  return {};
}

base::Status checkExtents(const ops::Contraction& c, const std::string& what) {
  const std::size_t n = c.field.size();
  if (n > kMaximumDims)
    return refuse(what,
                  fmt::format("{} spatial axes; an IPU's convolutions have at most {}", n, kMaximumDims));
  if (c.kernel.size() != n || c.output.size() != n || c.stride.size() != n || c.dilation.size() != n ||
      c.padding.size() != 2 * n) {
    return refuse(what, "field, kernel, output, stride, dilation and padding differ in their number of axes");
  }
  const auto inRange = [](std::int64_t extent) { return extent >= 1 && extent <= kMaximumExtent; };
  const auto check = [&](const char* name, std::int64_t extent) -> base::Status {
    if (inRange(extent)) return {};
    return refuse(what, fmt::format("{} is {}, but must be between 1 and {}", name, extent, kMaximumExtent));
  };
  PIPESCOPE_TRY(check("batch", c.batch));
  PIPESCOPE_TRY(check("groups", c.groups));
  PIPESCOPE_TRY(check("input channels", c.inputChannels));
  PIPESCOPE_TRY(check("output channels", c.outputChannels));
  for (std::size_t i = 0; i < n; ++i) {
    PIPESCOPE_TRY(check("a field extent", c.field[i]));
    PIPESCOPE_TRY(check("a kernel extent", c.kernel[i]));
    PIPESCOPE_TRY(check("an output extent", c.output[i]));
    PIPESCOPE_TRY(check("a stride", c.stride[i]));
    PIPESCOPE_TRY(check("a dilation", c.dilation[i]));
    for (const std::int64_t padding : {c.padding[i], c.padding[i + n]}) {
      if (padding < 0 || padding > kMaximumExtent)
        return refuse(what, fmt::format("padding is {}, but must not be negative", padding));
    }
  }
  return {};
}

bool exceeds(const std::vector<std::int64_t>& factors, std::int64_t limit) {
  std::int64_t product = 1;
  for (const std::int64_t factor : factors) {
    if (__builtin_mul_overflow(product, factor, &product) || product > limit) return true;
  }
  return false;
}

base::Status checkSize(const ConvShape& shape, const std::string& what) {
  std::vector<std::int64_t> input{shape.groups, shape.batch, shape.inputChannels};
  std::vector<std::int64_t> weights{shape.groups, shape.inputChannels, shape.outputChannels};
  std::vector<std::int64_t> output{shape.groups, shape.batch, shape.outputChannels};
  std::vector<std::int64_t> products = output;
  products.push_back(shape.inputChannels);
  for (std::size_t i = 0; i < shape.dimCount; ++i) {
    input.push_back(shape.dims[i].input);
    weights.push_back(shape.dims[i].kernel);
    output.push_back(shape.dims[i].output);
    products.push_back(shape.dims[i].output);
    products.push_back(shape.dims[i].kernel);
  }
  for (const auto& operand : {input, weights, output}) {
    if (exceeds(operand, kMaximumElements)) {
      return refuse(
          what,
          fmt::format("an operand or result has more than 2^40 elements; no device holds it, use a smaller "
                      "micro-batch or layer"));
    }
  }
  if (exceeds(products, std::int64_t{1} << 60))
    return refuse(what, "more than 2^60 multiply-adds; use a smaller layer");
  return {};
}

/// The forward product of the contraction.
ConvShape forwardShape(const ops::Contraction& c) {
  ConvShape shape;
  // PopLibs sums products of float8 in float16 only (C).
  shape.quarter = graph::isFloat8(c.type);
  shape.half = shape.quarter || isHalf(c.type);
  shape.halfPartials = shape.quarter || (isHalf(c.accumulate) && shape.half);
  shape.groups = c.groups;
  shape.batch = c.batch;
  shape.inputChannels = c.inputChannels;
  shape.outputChannels = c.outputChannels;
  shape.dimCount = c.field.size();
  bool plain = true;
  for (std::size_t i = 0; i < shape.dimCount; ++i) {
    const ConvDim forward = forwardDim(c, i);
    plain = plain && forward.plain();
    shape.dims[i] = c.transposed ? reversed(forward) : forward;
    // A transposed convolution maps its field to its output, but its strides count on the output.
    if (c.transposed) {
      shape.dims[i].input = forward.input;
      shape.dims[i].output = forward.output;
    }
  }
  shape.matmul = plain && c.batch == 1 && shape.dimCount <= 1 && !c.transposed;
  return shape;
}

/// The dimension of the ordinary convolution whose input gradient this transposed convolution is.
ConvDim untransposed(const ops::Contraction& c, std::size_t i) {
  ConvDim dim = forwardDim(c, i);
  if (c.transposed) std::swap(dim.input, dim.output);
  return dim;
}

ConvShape inputGradient(const ops::Contraction& c, ConvShape shape) {
  shape.pass = ProductPass::inputGradient;
  std::swap(shape.inputChannels, shape.outputChannels);
  for (std::size_t i = 0; i < shape.dimCount; ++i) {
    shape.dims[i] = c.transposed ? untransposed(c, i) : withDeferredDilation(reversed(shape.dims[i]));
  }
  return shape;
}

ConvShape weightGradient(const ops::Contraction& c, ConvShape shape) {
  shape.pass = ProductPass::weightGradient;
  std::swap(shape.batch, shape.inputChannels);
  // The kernel of a transposed convolution slides over its output, with the field as the moving operand.
  for (std::size_t i = 0; i < shape.dimCount; ++i) shape.dims[i] = ofKernel(untransposed(c, i));
  if (c.transposed) std::swap(shape.batch, shape.outputChannels);
  return shape;
}

}  // namespace

std::int64_t ConvDim::outputStep() const {
  return inputDilation == 1 ? 1 : inputDilation / std::gcd(inputDilation, stride);
}

std::int64_t ConvDim::inputsFor(std::int64_t outputs, std::int64_t taps) const {
  const std::int64_t dilated = (outputs - 1) * stride + 1 + (taps - 1) * kernelDilation;
  return std::min(input, inputDilation == 1 ? dilated : (dilated - 1) / inputDilation + 1);
}

std::int64_t ConvShape::inputElements() const {
  std::int64_t count = groups * batch * inputChannels;
  for (std::size_t i = 0; i < dimCount; ++i) count *= dims[i].input;
  return count;
}

std::int64_t ConvShape::weightElements() const {
  std::int64_t count = groups * inputChannels * outputChannels;
  for (std::size_t i = 0; i < dimCount; ++i) count *= dims[i].kernel;
  return count;
}

std::int64_t ConvShape::outputElements() const {
  std::int64_t count = groups * batch * outputChannels;
  for (std::size_t i = 0; i < dimCount; ++i) count *= dims[i].output;
  return count;
}

base::Result<ConvShape> shapeOf(const ops::Contraction& c, const std::string& what) {
  PIPESCOPE_TRY(checkType(c, what));
  PIPESCOPE_TRY(checkExtents(c, what));
  ConvShape shape = forwardShape(c);
  PIPESCOPE_TRY(checkSize(shape, what));
  if (shape.matmul) {
    shape.trained = c.trained;
    shape.batch = shape.dimCount ? shape.dims[0].output : 1;  // the rows of [m,k]·[k,n]
    shape.dimCount = 0;
    shape.dims = {};
  }
  switch (c.phase) {
    case ops::Contraction::Phase::inputGradient:
      return inputGradient(c, shape);
    case ops::Contraction::Phase::weightGradient:
      return weightGradient(c, shape);
    case ops::Contraction::Phase::forward:
      break;
  }
  return shape;
}

}  // namespace pipescope::devices::ipu
