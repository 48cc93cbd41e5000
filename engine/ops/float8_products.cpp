#include "engine/ops/float8_products.h"

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <optional>

#include "engine/ops/core/dispatch.h"
#include "engine/ops/core/float8.h"
#include "engine/ops/standard_operators.h"

namespace pipescope::ops {
namespace {

using base::badInput;

constexpr std::string_view kPrefix = "Float8";
enum Input : std::size_t { kLeft, kRight, kLeftScale, kRightScale, kBias };

Result<ElementType> typeNamed(const OperatorCall& call, const std::string& attribute,
                              const std::vector<ElementType>& allowed) {
  const std::string name = graph::stringAttribute(call.node, attribute, "");
  std::string known;
  for (const ElementType type : allowed) {
    if (graph::toString(type) == name) return type;
    known += (known.empty() ? "" : " or ") + graph::toString(type);
  }
  return badInput(fmt::format("{}: {} is \"{}\"; it must be {}", call.title(), attribute, name, known));
}

Result<ElementType> resultOf(const OperatorCall& call) {
  return typeNamed(call, "result", {ElementType::float16, ElementType::bfloat16, ElementType::float32});
}

/// The call of the operator without Float8, with factors of type `factors` and everything else of type
/// `rest`.
struct PlainCall {
  Node node;
  std::vector<TensorType> types;
  const OperatorDefinition* definition = nullptr;
  std::optional<OperatorCall> call;
};

std::unique_ptr<PlainCall> plainCall(const OperatorCall& call, ElementType factors, ElementType rest) {
  auto plain = std::make_unique<PlainCall>();
  plain->node = call.node;
  plain->node.op = call.node.op.substr(kPrefix.size());
  for (const char* own : {"result", "accumulate", "scales"}) plain->node.attributes.erase(own);
  plain->types = {{factors, call.input(kLeft).shape}, {factors, call.input(kRight).shape}};
  if (call.has(kBias)) plain->types.push_back({rest, call.input(kBias).shape});
  plain->definition = standardOperators().find(plain->node.op);
  plain->call.emplace(OperatorCall{plain->node, {}, {}, {}, call.requestedOutputs});
  for (const TensorType& type : plain->types) {
    plain->call->inputs.push_back(&type);
    plain->call->constants.push_back(nullptr);
  }
  for (const TensorType& output : call.outputs) plain->call->outputs.push_back({rest, output.shape});
  return plain;
}

Status checkFloat8Inputs(const OperatorCall& call, ElementType result) {
  for (const std::size_t i : {kLeft, kRight}) {
    if (graph::isFloat8(call.input(i).element)) continue;
    return badInput(fmt::format("{}: input {} is {}; it must be float8", call.title(), i,
                                graph::toString(call.input(i).element)));
  }
  if (call.has(kLeftScale) != call.has(kRightScale))
    return badInput(call.title() +
                    ": one factor has a scale as input and the other does not; give both or none");
  for (const std::size_t i : {kLeftScale, kRightScale}) {
    if (!call.has(i) || call.input(i) == TensorType{ElementType::int32, {}}) continue;
    return badInput(fmt::format("{}: the scale, input {}, is {}; it must be one int32", call.title(), i,
                                graph::toString(call.input(i))));
  }
  if (!call.has(kLeftScale) && graph::intsAttribute(call.node, "scales", {}).size() != 2)
    return badInput(call.title() + ": its scales are neither inputs nor a list of two numbers");
  if (call.has(kBias) && call.input(kBias).element != result)
    return badInput(fmt::format("{}: its bias is {}, but its result is {}", call.title(),
                                graph::toString(call.input(kBias).element), graph::toString(result)));
  return {};
}

Result<std::vector<TensorType>> inferFloat8Product(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const ElementType result, resultOf(call));
  PIPESCOPE_TRY(typeNamed(call, "accumulate", {ElementType::float16, ElementType::float32}));
  PIPESCOPE_TRY(checkFloat8Inputs(call, result));
  const auto plain = plainCall(call, ElementType::float32, ElementType::float32);
  PIPESCOPE_ASSIGN(std::vector<TensorType> types, plain->definition->infer(*plain->call));
  for (TensorType& type : types) type.element = result;
  return types;
}

/// Both factors become float32 in scratch memory; the rest is as without float8.
struct Float8ProductSetup {
  TensorType left, right;
  bool bias = false;
  std::int64_t leftScale = 0, rightScale = 0, leftBytes = 0, factorBytes = 0;
  Kernel inner;
};

Status runFloat8Product(const KernelArguments& a, const Float8ProductSetup& setup) {
  const auto scaleOf = [&](std::size_t input, std::int64_t given) {
    const auto* scale = a.input<std::int32_t>(input);
    return std::ldexp(1.0F, -static_cast<int>(scale ? *scale : given));
  };
  auto* left = reinterpret_cast<float*>(a.scratch.data());
  auto* right = reinterpret_cast<float*>(a.scratch.data() + setup.leftBytes);
  widenFloat8(setup.left.element, a.input<std::uint8_t>(kLeft), left, setup.left.elements(),
              scaleOf(kLeftScale, setup.leftScale));
  widenFloat8(setup.right.element, a.input<std::uint8_t>(kRight), right, setup.right.elements(),
              scaleOf(kRightScale, setup.rightScale));
  const auto bytesOf = [](const float* first, const TensorType& type) {
    return std::span<const std::byte>(reinterpret_cast<const std::byte*>(first),
                                      static_cast<std::size_t>(type.elements()) * sizeof(float));
  };
  const std::span<const std::byte> inputs[] = {bytesOf(left, setup.left), bytesOf(right, setup.right),
                                               setup.bias ? a.inputs[kBias] : std::span<const std::byte>()};
  return setup.inner.run({{inputs, setup.bias ? std::size_t{3} : std::size_t{2}},
                          a.outputs,
                          a.scratch.subspan(static_cast<std::size_t>(setup.factorBytes)),
                          a.identity,
                          a.executor});
}

Result<Kernel> float8ProductKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const ElementType result, resultOf(call));
  Float8ProductSetup setup{call.input(kLeft), call.input(kRight), call.has(kBias), 0, 0, 0, 0, {}};
  const std::vector<std::int64_t> scales = graph::intsAttribute(call.node, "scales", {});
  if (scales.size() == 2) setup.leftScale = scales[0], setup.rightScale = scales[1];
  const auto bytes = [](const TensorType& type) {
    return paddedElements<float>(type.elements()) * static_cast<std::int64_t>(sizeof(float));
  };
  setup.leftBytes = bytes(setup.left);
  setup.factorBytes = setup.leftBytes + bytes(setup.right);
  const auto single = plainCall(call, ElementType::float32, ElementType::float32);
  PIPESCOPE_ASSIGN(setup.inner, single->definition->kernel(*single->call));
  if (result != ElementType::float32) {
    const auto narrow = plainCall(call, ElementType::float32, result);
    setup.inner = halfKernel(*narrow->call, result, std::move(setup.inner));
  }
  const std::int64_t scratch = setup.factorBytes + setup.inner.scratchBytes;
  return kernelOf(setup, runFloat8Product, scratch);
}

std::vector<Work> float8ProductWork(const OperatorCall& call) {
  const ElementType result = *resultOf(call);
  const auto plain = plainCall(call, result, result);
  std::vector<Work> work = plain->definition->work(*plain->call);
  for (Work& each : work) {
    auto* product = std::get_if<Contraction>(&each.item);
    if (!product) continue;
    product->type = call.input(kLeft).element;
    product->accumulate = *typeNamed(call, "accumulate", {ElementType::float16, ElementType::float32});
  }
  return work;
}

}  // namespace

const std::vector<std::string>& float8ProductOperators() {
  static const std::vector<std::string> operators{
      "MatMul", "Gemm", "Conv", "GradMatMulLeft", "GradMatMulRight", "GradConvInput", "GradConvWeight"};
  return operators;
}

void addFloat8Products(OperatorRegistry& registry) {
  for (const std::string& name : float8ProductOperators()) {
    const OperatorDefinition* plain = registry.find(name);
    PIPESCOPE_CHECK(plain, name + " is no operator");
    OperatorDefinition definition;
    definition.type = std::string(kPrefix) + name;
    definition.attributes = plain->attributes;
    for (const char* own : {"result", "accumulate"})
      definition.attributes.push_back({own, AttributeKind::text});
    definition.attributes.push_back({"scales", AttributeKind::integers});
    definition.minInputs = 2;
    definition.maxInputs = plain->maxInputs > 2 ? 5 : 4;
    definition.infer = inferFloat8Product;
    definition.kernel = float8ProductKernel;
    definition.work = float8ProductWork;
    registry.add(std::move(definition));
  }
}

}  // namespace pipescope::ops
