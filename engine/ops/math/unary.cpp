#include "engine/ops/math/unary.h"

#include "engine/ops/core/dispatch.h"

namespace pipescope::ops {
namespace {

template <class T>
const UnaryLoops<T>& loopsOf(const UnaryDefinition& definition) {
  if constexpr (std::is_same_v<T, float>) {
    return definition.ofFloats;
  } else {
    return definition.ofDoubles;
  }
}

template <class T>
struct UnarySetup {
  std::int64_t count = 0;
  UnaryLoops<T> loops;
  UnaryParameters<T> parameters;
};

template <class T>
UnarySetup<T> unarySetupOf(const UnaryDefinition& definition, const OperatorCall& call) {
  const auto read = [&](std::size_t i) {
    const auto& [name, fallback] = definition.attributes[i];
    return name ? static_cast<T>(graph::floatAttribute(call.node, name, fallback)) : T(0);
  };
  return {call.input(0).elements(), loopsOf<T>(definition), {read(0), read(1), read(2)}};
}

template <class T>
Status runUnary(const KernelArguments& a, const UnarySetup<T>& setup) {
  forRanges(a, setup.count, [&](std::int64_t first, std::int64_t end) {
    setup.loops.value(a.input<T>(0) + first, a.output<T>(0) + first, end - first, setup.parameters);
  });
  return {};
}

template <class T>
Status runUnaryGradient(const KernelArguments& a, const UnarySetup<T>& setup) {
  forRanges(a, setup.count, [&](std::int64_t first, std::int64_t end) {
    setup.loops.slope(a.input<T>(0) + first, a.input<T>(1) + first, a.output<T>(0) + first, end - first,
                      setup.parameters);
  });
  return {};
}

}  // namespace

std::vector<AttributeRule> attributeRules(const UnaryDefinition& definition) {
  std::vector<AttributeRule> rules;
  for (const UnaryAttribute& each : definition.attributes)
    if (each.name) rules.push_back({each.name, AttributeKind::real});
  return rules;
}

Result<std::vector<TensorType>> inferUnary(const OperatorCall& call) {
  return std::vector<TensorType>{call.input(0)};
}

Result<std::vector<TensorType>> inferUnaryGradient(const OperatorCall& call) {
  PIPESCOPE_TRY(requireSameTypes(call, 0, 1));
  return std::vector<TensorType>{call.input(1)};
}

Result<Kernel> unaryKernel(const UnaryDefinition& definition, const OperatorCall& call) {
  return kernelForFloats(call, call.input(0).element, [&]<class T>(T) {
    return kernelOf(unarySetupOf<T>(definition, call), runUnary<T>);
  });
}

Result<Kernel> unaryGradientKernel(const UnaryDefinition& definition, const OperatorCall& call) {
  return kernelForFloats(call, call.input(0).element, [&]<class T>(T) {
    return kernelOf(unarySetupOf<T>(definition, call), runUnaryGradient<T>);
  });
}

std::vector<Work> unaryWork(const UnaryDefinition& definition, const OperatorCall& call) {
  return {{Map{definition.work, call.input(0).elements(), 1, call.input(0).element, true}, 1, ""}};
}

std::vector<Work> unaryGradientWork(const UnaryDefinition& definition, const OperatorCall& call) {
  return {{Map{definition.gradientWork, call.input(0).elements(), 2, call.input(0).element, true}, 1, ""}};
}

Status unaryGradient(const UnaryDefinition& definition, GradientBuilder& builder) {
  const Node& node = builder.node();
  const bool ofInput = definition.reference == UnaryReference::input;
  const graph::TensorId r = ofInput ? node.inputs[0] : node.outputs[0];
  return builder.addFor(0, std::string("Grad") + definition.type, "grad_input",
                        {r, builder.outputGradient(0)}, node.attributes);
}

}  // namespace pipescope::ops
