// Conv, GradConvInput, GradConvWeight. The bias' gradient is a ReduceSum.
#include <fmt/format.h>

#include "engine/ops/conv_plan.h"
#include "engine/ops/dispatch.h"
#include "engine/ops/gradient_builder.h"

namespace pipescope::ops {
namespace {

using base::badInput;

// --- Conv: x, w, [bias] → y ------------------------------------------------------------

Result<std::vector<TensorType>> inferConv(const OperatorCall& call) {
  PIPESCOPE_TRY(requireSameElementTypes(call, {0, 1, 2}));
  PIPESCOPE_ASSIGN(const ConvPlan plan, convPlanOf(call, call.input(0).shape, call.input(1).shape));
  const std::int64_t filters = plan.groups * plan.outChannels;
  if (call.has(2) && call.input(2).shape != Shape{filters}) {
    return badInput(fmt::format("{}: its bias is {}; it must hold one number for each of the {} filters",
                                call.title(), graph::toString(call.input(2)), filters));
  }
  return std::vector<TensorType>{{call.input(0).element, convOutputShape(plan)}};
}

template <bool kRelu>
Result<Kernel> convKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const ConvPlan plan, convPlanOf(call, call.input(0).shape, call.input(1).shape));
  return kernelForFloats(call, call.input(0).element, [&plan]<class T>(T) {
    const Convolution<T> convolution(plan, ConvPass::forward);
    return Kernel{[convolution](const KernelArguments& a) -> Status {
                    convolution.forward(a, a.input<T>(0), a.input<T>(1), a.input<T>(2), kRelu, a.output<T>(0),
                                a.scratchAs<T>());
                    return {};
                  },
                  convolution.scratchElements() * static_cast<std::int64_t>(sizeof(T))};
  });
}

std::vector<Work> convWork(const OperatorCall& call) {
  const Result<ConvPlan> plan = convPlanOf(call, call.input(0).shape, call.input(1).shape);
  const ElementType type = call.input(0).element;
  std::vector<Work> work{{convContraction(*plan, Contraction::Phase::forward, type), 1, "Convolve"}};
  if (call.has(2))
    work.push_back({Map{"add", graph::elementCount(convOutputShape(*plan)), 2, type, true}, 1, "Bias"});
  return work;
}

Status convGradient(GradientBuilder& builder) {
  const Node& node = builder.node();
  const OperatorCall& call = builder.call();
  const graph::TensorId dy = builder.outputGradient(0);
  graph::Attributes attributes = node.attributes;
  if (builder.wants(0)) {
    attributes["input_shape"] = call.input(0).shape;
    PIPESCOPE_TRY(builder.addFor(0, "GradConvInput", "grad_input", {dy, node.inputs[1]}, attributes));
    attributes.erase("input_shape");
  }
  if (builder.wants(1)) {
    attributes["weight_shape"] = call.input(1).shape;
    PIPESCOPE_TRY(builder.addFor(1, "GradConvWeight", "grad_weight", {node.inputs[0], dy}, attributes));
  }
  if (call.has(2) && builder.wants(2)) {
    std::vector<std::int64_t> axes{0};
    for (std::size_t axis = 2; axis < call.input(0).shape.size(); ++axis)
      axes.push_back(static_cast<std::int64_t>(axis));
    PIPESCOPE_TRY(
        builder.addFor(2, "ReduceSum", "grad_bias", {dy}, {{"axes", axes}, {"keepdims", std::int64_t{0}}}));
  }
  return {};
}

// --- GradConvInput: dy, w → dx; attribute input_shape ----------------------------------

Result<ConvPlan> checkedPlan(const OperatorCall& call, const Shape& x, const Shape& w, const Shape& dy) {
  PIPESCOPE_ASSIGN(ConvPlan plan, convPlanOf(call, x, w));
  if (convOutputShape(plan) == dy) return plan;
  return badInput(fmt::format("{}: the gradient by its output is {}, but the output is {}", call.title(),
                              graph::toString({call.input(0).element, dy}),
                              graph::toString({call.input(0).element, convOutputShape(plan)})));
}

Result<ConvPlan> planOfInputGradient(const OperatorCall& call) {
  return checkedPlan(call, graph::intsAttribute(call.node, "input_shape", {}), call.input(1).shape,
                     call.input(0).shape);
}

Result<std::vector<TensorType>> inferInputGradient(const OperatorCall& call) {
  PIPESCOPE_TRY(requireSameElementTypes(call, {0, 1}));
  PIPESCOPE_TRY(planOfInputGradient(call));
  return std::vector<TensorType>{{call.input(0).element, graph::intsAttribute(call.node, "input_shape", {})}};
}

Result<Kernel> inputGradientKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const ConvPlan plan, planOfInputGradient(call));
  return kernelForFloats(call, call.input(0).element, [&plan]<class T>(T) {
    const Convolution<T> convolution(plan, ConvPass::inputGradient);
    return Kernel{[convolution](const KernelArguments& a) -> Status {
                    convolution.inputGradient(a, a.input<T>(0), a.input<T>(1), a.output<T>(0), a.scratchAs<T>());
                    return {};
                  },
                  convolution.scratchElements() * static_cast<std::int64_t>(sizeof(T))};
  });
}

std::vector<Work> inputGradientWork(const OperatorCall& call) {
  const Result<ConvPlan> plan = planOfInputGradient(call);
  return {{convContraction(*plan, Contraction::Phase::inputGradient, call.input(0).element), 1, "Convolve"}};
}

// --- GradConvWeight: x, dy → dw; attribute weight_shape --------------------------------

Result<ConvPlan> planOfWeightGradient(const OperatorCall& call) {
  return checkedPlan(call, call.input(0).shape, graph::intsAttribute(call.node, "weight_shape", {}),
                     call.input(1).shape);
}

Result<std::vector<TensorType>> inferWeightGradient(const OperatorCall& call) {
  PIPESCOPE_TRY(requireSameElementTypes(call, {0, 1}));
  PIPESCOPE_TRY(planOfWeightGradient(call));
  return std::vector<TensorType>{
      {call.input(0).element, graph::intsAttribute(call.node, "weight_shape", {})}};
}

Result<Kernel> weightGradientKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const ConvPlan plan, planOfWeightGradient(call));
  return kernelForFloats(call, call.input(0).element, [&plan]<class T>(T) {
    const Convolution<T> convolution(plan, ConvPass::weightGradient);
    return Kernel{[convolution](const KernelArguments& a) -> Status {
                    convolution.weightGradient(a, a.input<T>(0), a.input<T>(1), a.output<T>(0), a.scratchAs<T>());
                    return {};
                  },
                  convolution.scratchElements() * static_cast<std::int64_t>(sizeof(T))};
  });
}

std::vector<Work> weightGradientWork(const OperatorCall& call) {
  const Result<ConvPlan> plan = planOfWeightGradient(call);
  return {{convContraction(*plan, Contraction::Phase::weightGradient, call.input(0).element), 1, "Convolve"}};
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(conv) {
  registry.add({.type = "Conv",
                .attributes = convAttributes(nullptr),
                .minInputs = 2,
                .maxInputs = 3,
                .infer = inferConv,
                .kernel = convKernel<false>,
                .work = convWork,
                .gradient = convGradient,
                .kernelWithRelu = convKernel<true>});
  registry.add({.type = "GradConvInput",
                .attributes = convAttributes("input_shape"),
                .minInputs = 2,
                .maxInputs = 2,
                .infer = inferInputGradient,
                .kernel = inputGradientKernel,
                .work = inputGradientWork});
  registry.add({.type = "GradConvWeight",
                .attributes = convAttributes("weight_shape"),
                .minInputs = 2,
                .maxInputs = 2,
                .infer = inferWeightGradient,
                .kernel = weightGradientKernel,
                .work = weightGradientWork});
}

}  // namespace pipescope::ops
