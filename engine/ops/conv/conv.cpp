// Conv, GradConvInput and GradConvWeight. The gradient by the bias is a ReduceSum.
#include "engine/ops/conv/conv_setup.h"
#include "engine/ops/core/dispatch.h"

namespace pipescope::ops {
namespace {

// --- Conv: x, w, [bias] → y ------------------------------------------------------------

Result<std::vector<TensorType>> inferConv(const OperatorCall& call) {
  PIPESCOPE_TRY(requireSameElementTypes(call, {0, 1, 2}));
  PIPESCOPE_ASSIGN(const ConvSetup setup, convSetupOf(call, call.input(0).shape, call.input(1).shape));
  PIPESCOPE_TRY(checkConvBias(call, setup.groups * setup.outChannels));
  return std::vector<TensorType>{{call.input(0).element, convOutputShape(setup)}};
}

template <bool kRelu>
Result<Kernel> convKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const ConvSetup setup, convSetupOf(call, call.input(0).shape, call.input(1).shape));
  return convolutionKernel(call, setup, ConvPass::forward,
                           []<class T>(const Convolution<T>& convolution, const KernelArguments& a) {
                             convolution.forward(a, a.input<T>(0), a.input<T>(1), a.input<T>(2), kRelu,
                                                 a.output<T>(0), a.scratchAs<T>());
                           });
}

std::vector<Work> convWork(const OperatorCall& call) {
  const Result<ConvSetup> setup = convSetupOf(call, call.input(0).shape, call.input(1).shape);
  const ElementType type = call.input(0).element;
  std::vector<Work> work{{convContraction(*setup, Contraction::Phase::forward, type), 1, "Convolve"}};
  if (call.has(2))
    work.push_back(
        {Map{MapFunction::add, graph::elementCount(convOutputShape(*setup)), 2, type, true}, 1, "Bias"});
  return work;
}

// --- GradConvInput: dy, w → dx; attribute input_shape ----------------------------------

/// dy is input `gradient`; x and w are the shapes of the forward operands.
Result<ConvSetup> checkedSetup(const OperatorCall& call, const Shape& x, const Shape& w,
                               std::size_t gradient) {
  PIPESCOPE_TRY(requireSameElementTypes(call, {0, 1}));
  PIPESCOPE_ASSIGN(ConvSetup setup, convSetupOf(call, x, w));
  PIPESCOPE_TRY(checkOutputGradient(call, gradient, convOutputShape(setup)));
  return setup;
}

Result<ConvSetup> planOfInputGradient(const OperatorCall& call) {
  return checkedSetup(call, graph::intsAttribute(call.node, "input_shape", {}), call.input(1).shape, 0);
}

Result<std::vector<TensorType>> inferInputGradient(const OperatorCall& call) {
  PIPESCOPE_TRY(planOfInputGradient(call));
  return typeFromAttribute(call, "input_shape");
}

Result<Kernel> inputGradientKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const ConvSetup setup, planOfInputGradient(call));
  return convolutionKernel(call, setup, ConvPass::inputGradient,
                           []<class T>(const Convolution<T>& convolution, const KernelArguments& a) {
                             convolution.inputGradient(a, a.input<T>(0), a.input<T>(1), a.output<T>(0),
                                                       a.scratchAs<T>());
                           });
}

std::vector<Work> inputGradientWork(const OperatorCall& call) {
  const Result<ConvSetup> setup = planOfInputGradient(call);
  return {{convContraction(*setup, Contraction::Phase::inputGradient, call.input(0).element), 1, "Convolve"}};
}

// --- GradConvWeight: x, dy → dw; attribute weight_shape --------------------------------

Result<ConvSetup> planOfWeightGradient(const OperatorCall& call) {
  return checkedSetup(call, call.input(0).shape, graph::intsAttribute(call.node, "weight_shape", {}), 1);
}

Result<std::vector<TensorType>> inferWeightGradient(const OperatorCall& call) {
  PIPESCOPE_TRY(planOfWeightGradient(call));
  return typeFromAttribute(call, "weight_shape");
}

Result<Kernel> weightGradientKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const ConvSetup setup, planOfWeightGradient(call));
  return convolutionKernel(call, setup, ConvPass::weightGradient,
                           []<class T>(const Convolution<T>& convolution, const KernelArguments& a) {
                             convolution.weightGradient(a, a.input<T>(0), a.input<T>(1), a.output<T>(0),
                                                        a.scratchAs<T>());
                           });
}

std::vector<Work> weightGradientWork(const OperatorCall& call) {
  const Result<ConvSetup> setup = planOfWeightGradient(call);
  return {
      {convContraction(*setup, Contraction::Phase::weightGradient, call.input(0).element), 1, "Convolve"}};
}

/// The attributes of a convolution, and `multi_conv`: the group of convolutions that a device runs side by
/// side. It changes no number.
std::vector<AttributeRule> groupedConvAttributes(const char* extra) {
  std::vector<AttributeRule> rules = convAttributes(extra);
  rules.push_back({"multi_conv", AttributeKind::text});
  return rules;
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(conv) {
  registry.add({.type = "Conv",
                .attributes = groupedConvAttributes(nullptr),
                .minInputs = 2,
                .maxInputs = 3,
                .infer = inferConv,
                .kernel = convKernel<false>,
                .work = convWork,
                .gradient = addConvGradients,
                .kernelWithRelu = convKernel<true>});
  registry.add({.type = "GradConvInput",
                .attributes = groupedConvAttributes("input_shape"),
                .minInputs = 2,
                .maxInputs = 2,
                .infer = inferInputGradient,
                .kernel = inputGradientKernel,
                .work = inputGradientWork});
  registry.add({.type = "GradConvWeight",
                .attributes = groupedConvAttributes("weight_shape"),
                .minInputs = 2,
                .maxInputs = 2,
                .infer = inferWeightGradient,
                .kernel = weightGradientKernel,
                .work = weightGradientWork});
}

}  // namespace pipescope::ops
