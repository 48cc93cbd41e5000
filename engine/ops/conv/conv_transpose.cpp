// ConvTranspose is the gradient of a convolution by its input, as an operator: x (batch × channels × …), w
// (channels × filters per group × kernel), [bias] → y. Its gradients are a convolution
// (GradConvTransposeInput: dy, w → dx) and the weight gradient of a convolution (GradConvTransposeWeight: x,
// dy → dw).
#include <fmt/format.h>

#include <algorithm>

#include "engine/ops/conv/conv_setup.h"
#include "engine/ops/core/dispatch.h"
#include "engine/ops/core/shape_tools.h"

namespace pipescope::ops {
namespace {

using base::badInput;

/// Pads and output extents. If a wanted output shape leaves padding over, half of it goes to each end; an odd
/// one goes to the end with SAME_UPPER, otherwise to the begin. If the wanted output is larger than the taps
/// reach, its end stays empty.
Status placeOutput(const OperatorCall& call, Window& w) {
  const std::size_t axes = w.kernel.size();
  const std::string mode = graph::stringAttribute(call.node, "auto_pad", "NOTSET");
  if (mode != "NOTSET" && mode != "VALID" && mode != "SAME_UPPER" && mode != "SAME_LOWER") {
    return badInput(fmt::format("{}: auto_pad is {}; it must be NOTSET, VALID, SAME_UPPER or SAME_LOWER",
                                call.title(), mode));
  }
  PIPESCOPE_ASSIGN(const Ints pads, numbersPerAxis(call, "pads", 2 * axes, 0, 0));
  PIPESCOPE_ASSIGN(const Ints extra, numbersPerAxis(call, "output_padding", axes, 0, 0));
  Ints wanted = graph::intsAttribute(call.node, "output_shape", {});
  if (wanted.size() == axes + 2) wanted.erase(wanted.begin(), wanted.begin() + 2);
  if (!wanted.empty() && wanted.size() != axes)
    return badInput(
        fmt::format("{}: output_shape has {} numbers; it needs {}", call.title(), wanted.size(), axes));
  const bool same = mode == "SAME_UPPER" || mode == "SAME_LOWER";
  for (std::size_t a = 0; a < axes; ++a) {
    const std::int64_t reach =
        (w.output[a] - 1) * w.stride[a] + (w.kernel[a] - 1) * w.dilation[a] + 1 + extra[a];
    std::int64_t begin = pads[a], end = pads[axes + a];
    std::int64_t extent = reach - begin - end;
    if (!wanted.empty() || same) {
      extent = wanted.empty() ? w.output[a] * w.stride[a] : wanted[a];
      const std::int64_t total = std::max<std::int64_t>(0, reach - extent);
      begin = mode == "SAME_UPPER" ? total / 2 : total - total / 2;
      end = total - begin;
    }
    if (extent < 1 || extent > kMostWindowExtent) {
      return badInput(
          fmt::format("{}: on spatial axis {} its output would have {} elements; give less padding",
                      call.title(), a, extent));
    }
    w.padBegin.push_back(begin);
    w.padEnd.push_back(end);
    w.input.push_back(extent);
  }
  return {};
}

/// The setup of the convolution whose transpose this is: its input is our output.
Result<ConvSetup> planOf(const OperatorCall& call, const Shape& x, const Shape& w) {
  if (x.size() < 3 || x.size() - 2 > kMaxSpatialAxes || w.size() != x.size() || w[0] != x[1]) {
    return badInput(
        fmt::format("{}: a weight of {} does not fit an input of {}; it needs the input's channels, filters "
                    "and 1 to {} spatial axes",
                    call.title(), extentsText(w), extentsText(x), kMaxSpatialAxes));
  }
  ConvSetup setup;
  setup.batch = x[0];
  PIPESCOPE_TRY(readGroupAndKernel(call, w, x[1], "channels", setup));
  setup.outChannels = x[1] / setup.groups;
  setup.inChannels = w[1];
  setup.window.output.assign(x.begin() + 2, x.end());
  const std::size_t axes = x.size() - 2;
  PIPESCOPE_ASSIGN(setup.window.stride, numbersPerAxis(call, "strides", axes, 1, 1));
  PIPESCOPE_ASSIGN(setup.window.dilation, numbersPerAxis(call, "dilations", axes, 1, 1));
  for (std::size_t a = 0; a < axes; ++a) {
    if (setup.window.kernel[a] < 1 || setup.window.output[a] < 1 ||
        setup.window.kernel[a] > kMostWindowExtent || setup.window.output[a] > kMostWindowExtent)
      return badInput(fmt::format("{}: kernel {} over {} on spatial axis {}; both must be 1 to {}",
                                  call.title(), setup.window.kernel[a], setup.window.output[a], a,
                                  kMostWindowExtent));
  }
  PIPESCOPE_TRY(placeOutput(call, setup.window));
  return setup;
}

Shape outputShape(const ConvSetup& setup) {
  Shape shape = setup.window.input;
  shape.insert(shape.begin(), {setup.batch, setup.groups * setup.inChannels});
  return shape;
}

Contraction contractionOf(const ConvSetup& setup, Contraction::Phase phase, ElementType type) {
  Contraction c = convContraction(setup, phase, type);
  // The geometry of the operator's own forward pass.
  std::swap(c.inputChannels, c.outputChannels);
  std::swap(c.field, c.output);
  c.transposed = true;
  return c;
}

Result<std::vector<TensorType>> inferTransposed(const OperatorCall& call) {
  PIPESCOPE_TRY(requireSameElementTypes(call, {0, 1, 2}));
  PIPESCOPE_ASSIGN(const ConvSetup setup, planOf(call, call.input(0).shape, call.input(1).shape));
  PIPESCOPE_TRY(checkConvBias(call, setup.groups * setup.inChannels));
  PIPESCOPE_TRY(requireSize(call, outputShape(setup)));
  return std::vector<TensorType>{{call.input(0).element, outputShape(setup)}};
}

Result<Kernel> transposedKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const ConvSetup setup, planOf(call, call.input(0).shape, call.input(1).shape));
  return convolutionKernel(call, setup, ConvPass::inputGradient,
                           [setup]<class T>(const Convolution<T>& convolution, const KernelArguments& a) {
                             T* y = a.output<T>(0);
                             convolution.inputGradient(a, a.input<T>(0), a.input<T>(1), y, a.scratchAs<T>());
                             const T* bias = a.input<T>(2);
                             if (!bias) return;
                             const std::int64_t filters = setup.groups * setup.inChannels,
                                                each = setup.window.inputs();
                             for (std::int64_t row = 0; row < setup.batch * filters; ++row) {
                               for (std::int64_t i = 0; i < each; ++i)
                                 y[row * each + i] += bias[row % filters];
                             }
                           });
}

std::vector<Work> transposedWork(const OperatorCall& call) {
  const ConvSetup setup = *planOf(call, call.input(0).shape, call.input(1).shape);
  const ElementType type = call.input(0).element;
  std::vector<Work> work{{contractionOf(setup, Contraction::Phase::forward, type), 1, "Convolve"}};
  if (call.has(2))
    work.push_back(
        {Map{MapFunction::add, graph::elementCount(outputShape(setup)), 2, type, true}, 1, "Bias"});
  return work;
}

// --- Gradients ---------------------------------------------------------------------------------------------

/// dy is input `gradient`; x and w are the shapes of the forward operands.
Result<ConvSetup> gradientSetup(const OperatorCall& call, const Shape& x, const Shape& w,
                                std::size_t gradient) {
  PIPESCOPE_TRY(requireSameElementTypes(call, {0, 1}));
  PIPESCOPE_ASSIGN(ConvSetup setup, planOf(call, x, w));
  PIPESCOPE_TRY(checkOutputGradient(call, gradient, outputShape(setup)));
  return setup;
}

Result<ConvSetup> inputSetup(const OperatorCall& call) {
  return gradientSetup(call, graph::intsAttribute(call.node, "input_shape", {}), call.input(1).shape, 0);
}
Result<ConvSetup> weightSetup(const OperatorCall& call) {
  return gradientSetup(call, call.input(0).shape, graph::intsAttribute(call.node, "weight_shape", {}), 1);
}

Result<std::vector<TensorType>> inferInput(const OperatorCall& call) {
  PIPESCOPE_TRY(inputSetup(call));
  return typeFromAttribute(call, "input_shape");
}
Result<std::vector<TensorType>> inferWeight(const OperatorCall& call) {
  PIPESCOPE_TRY(weightSetup(call));
  return typeFromAttribute(call, "weight_shape");
}

Result<Kernel> inputKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const ConvSetup setup, inputSetup(call));
  return convolutionKernel(call, setup, ConvPass::forward,
                           []<class T>(const Convolution<T>& convolution, const KernelArguments& a) {
                             convolution.forward(a, a.input<T>(0), a.input<T>(1), nullptr, false,
                                                 a.output<T>(0), a.scratchAs<T>());
                           });
}

Result<Kernel> weightKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const ConvSetup setup, weightSetup(call));
  return convolutionKernel(call, setup, ConvPass::weightGradient,
                           []<class T>(const Convolution<T>& convolution, const KernelArguments& a) {
                             convolution.weightGradient(a, a.input<T>(1), a.input<T>(0), a.output<T>(0),
                                                        a.scratchAs<T>());
                           });
}

std::vector<Work> inputWork(const OperatorCall& call) {
  return {{contractionOf(*inputSetup(call), Contraction::Phase::inputGradient, call.input(0).element), 1,
           "Convolve"}};
}
std::vector<Work> weightWork(const OperatorCall& call) {
  return {{contractionOf(*weightSetup(call), Contraction::Phase::weightGradient, call.input(0).element), 1,
           "Convolve"}};
}

std::vector<AttributeRule> transposedAttributes(const char* extra) {
  std::vector<AttributeRule> rules = convAttributes(extra);
  rules.push_back({"output_padding", AttributeKind::integers});
  rules.push_back({"output_shape", AttributeKind::integers});
  return rules;
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(conv_transpose) {
  registry.add({.type = "ConvTranspose",
                .attributes = transposedAttributes(nullptr),
                .minInputs = 2,
                .maxInputs = 3,
                .infer = inferTransposed,
                .kernel = transposedKernel,
                .work = transposedWork,
                .gradient = addConvGradients});
  registry.add({.type = "GradConvTransposeInput",
                .attributes = transposedAttributes("input_shape"),
                .minInputs = 2,
                .maxInputs = 2,
                .infer = inferInput,
                .kernel = inputKernel,
                .work = inputWork});
  registry.add({.type = "GradConvTransposeWeight",
                .attributes = transposedAttributes("weight_shape"),
                .minInputs = 2,
                .maxInputs = 2,
                .infer = inferWeight,
                .kernel = weightKernel,
                .work = weightWork});
}

}  // namespace pipescope::ops
