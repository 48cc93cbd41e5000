// ConvInteger convolves int8 or uint8 numbers minus their zero points, in int32. It computes in doubles,
// which hold every such sum exactly.
#include <fmt/format.h>

#include "engine/ops/conv/conv_setup.h"
#include "engine/ops/core/cast_elements.h"
#include "engine/ops/core/dispatch.h"

namespace pipescope::ops {
namespace {

using base::badInput;

struct ConvIntegerSetup {
  ConvSetup conv;
  ElementType x = ElementType::uint8, w = ElementType::uint8;
  std::int64_t inputs = 0, weights = 0, outputs = 0;
  std::int64_t filters = 0;
  bool perFilter = false;
};

Status checkConvZeroPoint(const OperatorCall& call, std::size_t input, std::int64_t many) {
  if (!call.has(input)) return {};
  const TensorType& zero = call.input(input);
  const bool count = zero.elements() == 1 || (many > 0 && zero.shape == Shape{many});
  if (zero.element == call.input(input - 2).element && count) return {};
  return badInput(fmt::format("{}: its zero point (input {}) is {}; it must be one {}{}", call.title(), input,
                              graph::toString(zero), graph::toString(call.input(input - 2).element),
                              many > 0 ? fmt::format(" or {} of them", many) : ""));
}

Result<ConvIntegerSetup> convIntegerSetupOf(const OperatorCall& call) {
  ConvIntegerSetup setup;
  setup.x = call.input(0).element;
  setup.w = call.input(1).element;
  for (const ElementType type : {setup.x, setup.w}) {
    if (type != ElementType::int8 && type != ElementType::uint8)
      return unsupportedType(call, type, "int8 and uint8");
  }
  PIPESCOPE_ASSIGN(setup.conv, convSetupOf(call, call.input(0).shape, call.input(1).shape));
  setup.filters = setup.conv.groups * setup.conv.outChannels;
  PIPESCOPE_TRY(checkConvZeroPoint(call, 2, 0));
  PIPESCOPE_TRY(checkConvZeroPoint(call, 3, setup.filters));
  setup.perFilter = call.has(3) && call.input(3).elements() > 1;
  setup.inputs = call.input(0).elements();
  setup.weights = call.input(1).elements();
  setup.outputs = graph::elementCount(convOutputShape(setup.conv));
  return setup;
}

Result<std::vector<TensorType>> inferConv(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const ConvIntegerSetup setup, convIntegerSetupOf(call));
  return std::vector<TensorType>{{ElementType::int32, convOutputShape(setup.conv)}};
}

double zeroOf(ElementType type, const KernelArguments& a, std::size_t input, std::int64_t at) {
  if (a.inputs.size() <= input || a.inputs[input].empty()) return 0;
  return type == ElementType::int8 ? a.input<std::int8_t>(input)[at] : a.input<std::uint8_t>(input)[at];
}

void runConvInteger(const ConvIntegerSetup& setup, const Convolution<double>& convolution,
                    const KernelArguments& a) {
  auto* x = a.scratchAs<double>();
  double* w = x + paddedElements<double>(setup.inputs);
  double* y = w + paddedElements<double>(setup.weights);
  double* columns = y + paddedElements<double>(setup.outputs);
  castElements(setup.x, a.inputs[0].data(), ElementType::float64, reinterpret_cast<std::byte*>(x),
               setup.inputs);
  castElements(setup.w, a.inputs[1].data(), ElementType::float64, reinterpret_cast<std::byte*>(w),
               setup.weights);
  const double zeroX = zeroOf(setup.x, a, 2, 0);
  for (std::int64_t i = 0; i < setup.inputs; ++i) x[i] -= zeroX;
  const std::int64_t perFilter = setup.weights / setup.filters;
  for (std::int64_t f = 0; f < setup.filters; ++f) {
    const double zero = zeroOf(setup.w, a, 3, setup.perFilter ? f : 0);
    for (std::int64_t i = 0; i < perFilter; ++i) w[f * perFilter + i] -= zero;
  }
  convolution.forward(a, x, w, nullptr, false, y, columns);
  castElements(ElementType::float64, reinterpret_cast<const std::byte*>(y), ElementType::int32,
               a.outputs[0].data(), setup.outputs);
}

Result<Kernel> convKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const ConvIntegerSetup setup, convIntegerSetupOf(call));
  const Convolution<double> convolution(setup.conv, ConvPass::forward);
  const std::int64_t scratch = paddedElements<double>(setup.inputs) + paddedElements<double>(setup.weights) +
                               paddedElements<double>(setup.outputs) + convolution.scratchElements();
  return Kernel{[setup, convolution](const KernelArguments& a) -> Status {
                  runConvInteger(setup, convolution, a);
                  return {};
                },
                scratch* static_cast<std::int64_t>(sizeof(double))};
}

std::vector<Work> convWork(const OperatorCall& call) {
  Contraction c =
      convContraction(convIntegerSetupOf(call)->conv, Contraction::Phase::forward, call.input(0).element);
  c.accumulate = ElementType::int32;
  return {{c, 1, ""}};
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(conv_integer) {
  registry.add({.type = "ConvInteger",
                .attributes = convAttributes(nullptr),
                .minInputs = 2,
                .maxInputs = 4,
                .infer = inferConv,
                .kernel = convKernel,
                .work = convWork});
}

}  // namespace pipescope::ops
