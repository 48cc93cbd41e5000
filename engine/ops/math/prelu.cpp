// PRelu: x, slope → x for x ≥ 0, otherwise slope·x; the slope broadcasts to x. GradPRelu (x, slope, dy) gives
// the gradient by x or, with `by` = "slope", the gradient by the slope before its broadcast is undone.
#include <fmt/format.h>

#include "engine/ops/core/broadcast.h"
#include "engine/ops/core/dispatch.h"

namespace pipescope::ops {
namespace {

Result<std::vector<TensorType>> inferPRelu(const OperatorCall& call) {
  PIPESCOPE_TRY(requireSameElementTypes(call, {0, 1}));
  PIPESCOPE_ASSIGN(const Shape shape, broadcastInputs(call));
  if (shape == call.input(0).shape) return std::vector<TensorType>{call.input(0)};
  return base::badInput(fmt::format("{}: its slope is {}; it must spread over {}", call.title(),
                                    graph::toString(call.input(1)), graph::toString(call.input(0))));
}

Result<Kernel> preluKernel(const OperatorCall& call) {
  const Broadcast setup(call.input(0).shape, {call.input(0).shape, call.input(1).shape});
  return kernelForNumbers(call, call.input(0).element, [&]<class T>(T) {
    return Kernel{[setup](const KernelArguments& a) -> Status {
                    mapTwo(setup, a.input<T>(0), a.input<T>(1), a.output<T>(0), [](T x, T slope) {
                      if constexpr (std::is_floating_point_v<T>) return x < T(0) ? slope * x : x;
                      return x < T(0) ? static_cast<T>(static_cast<std::uint64_t>(slope) *
                                                       static_cast<std::uint64_t>(x))
                                      : x;
                    });
                    return {};
                  },
                  0};
  });
}

std::vector<Work> preluWork(const OperatorCall& call) {
  return {{Map{MapFunction::prelu, call.input(0).elements(), 2, call.input(0).element, true}, 1, ""}};
}

Status preluGradient(GradientBuilder& builder) {
  const Node& node = builder.node();
  const std::vector<graph::TensorId> inputs{node.inputs[0], node.inputs[1], builder.outputGradient(0)};
  if (builder.wants(0)) PIPESCOPE_TRY(builder.addFor(0, "GradPRelu", "grad_input", inputs, {}));
  if (!builder.wants(1)) return {};
  PIPESCOPE_ASSIGN(const graph::TensorId all,
                   builder.add("GradPRelu", "grad_slope", inputs, {{"by", std::string("slope")}}));
  return addBroadcastGradient(builder, 1, all, builder.call().input(0).shape);
}

Result<std::vector<TensorType>> inferPreluGradient(const OperatorCall& call) {
  PIPESCOPE_TRY(requireSameTypes(call, 0, 2));
  return inferPRelu(call);
}

Result<Kernel> preluGradientKernel(const OperatorCall& call) {
  const Shape& x = call.input(0).shape;
  const Broadcast setup(x, {x, call.input(1).shape, x});
  const bool bySlope = graph::stringAttribute(call.node, "by", "input") == "slope";
  return kernelForFloats(call, call.input(0).element, [&]<class T>(T) {
    return Kernel{[setup, bySlope](const KernelArguments& a) -> Status {
                    mapThree(setup, a.input<T>(0), a.input<T>(1), a.input<T>(2), a.output<T>(0),
                             [bySlope](T value, T slope, T dy) {
                               if (bySlope) return value < T(0) ? dy * value : T(0);
                               return value < T(0) ? dy * slope : dy;
                             });
                    return {};
                  },
                  0};
  });
}

std::vector<Work> preluGradientWork(const OperatorCall& call) {
  return {
      {Map{MapFunction::preluGradient, call.input(0).elements(), 3, call.input(0).element, false}, 1, ""}};
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(prelu) {
  registry.add({.type = "PRelu",
                .minInputs = 2,
                .maxInputs = 2,
                .infer = inferPRelu,
                .kernel = preluKernel,
                .work = preluWork,
                .gradient = preluGradient,
                .inPlaceInput = 0});
  registry.add({.type = "GradPRelu",
                .attributes = {{"by", AttributeKind::text}},
                .minInputs = 3,
                .maxInputs = 3,
                .infer = inferPreluGradient,
                .kernel = preluGradientKernel,
                .work = preluGradientWork});
}

}  // namespace pipescope::ops
