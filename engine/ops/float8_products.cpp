#include "engine/ops/float8_products.h"

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <optional>

#include "engine/ops/core/dispatch.h"
#include "engine/ops/core/float8.h"
#include "engine/ops/quantized/scaled_blocks.h"
#include "engine/ops/standard_operators.h"

namespace pipescope::ops {
namespace {

using base::badInput;

constexpr std::string_view kPrefix = "Float8", kPrefix4 = "Float4";
static_assert(kPrefix.size() == kPrefix4.size());
/// The last input is what stands third without float8: a bias, or the numbers of the experts' rows.
enum Input : std::size_t { kLeft, kRight, kLeftScale, kRightScale, kThird };

bool isBias(const OperatorCall& call) {
  return call.has(kThird) && isFloat(call.input(kThird).element);
}

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
  for (const char* own : {"result", "accumulate", "scales", "axes"}) plain->node.attributes.erase(own);
  plain->types = {{factors, call.input(kLeft).shape}, {factors, call.input(kRight).shape}};
  if (call.has(kThird)) {
    const TensorType& third = call.input(kThird);
    plain->types.push_back({isBias(call) ? rest : third.element, third.shape});
  }
  plain->definition = standardOperators().find(plain->node.op);
  plain->call.emplace(OperatorCall{plain->node, {}, {}, {}, call.requestedOutputs});
  for (const TensorType& type : plain->types) {
    plain->call->inputs.push_back(&type);
    plain->call->constants.push_back(nullptr);
  }
  for (const TensorType& output : call.outputs) plain->call->outputs.push_back({rest, output.shape});
  return plain;
}

/// The axes along which the factors have blocks with scales; empty: each factor has one scale.
std::vector<std::int64_t> axesOf(const OperatorCall& call) {
  return graph::intsAttribute(call.node, "axes", {});
}

BlockLayout layoutOf(const OperatorCall& call, std::size_t factor) {
  const TensorType& type = call.input(factor);
  return blockLayout(type.shape, axesOf(call)[factor], blockOf(type.element));
}

Status checkBlocks(const OperatorCall& call) {
  const std::vector<std::int64_t> axes = axesOf(call);
  if (axes.size() != 2) return badInput(call.title() + ": its axes are not two numbers");
  for (const std::size_t i : {kLeft, kRight}) {
    const auto rank = static_cast<std::int64_t>(call.input(i).shape.size());
    if (axes[i] >= 0 || axes[i] < -rank)
      return badInput(fmt::format("{}: input {} has no axis {}", call.title(), i, axes[i]));
    const std::size_t scales = i + kLeftScale;
    const std::int64_t wanted = scaleBytes(call.input(i).element, layoutOf(call, i));
    if (call.has(scales) && call.input(scales) == TensorType{ElementType::uint8, {wanted}}) continue;
    return badInput(
        fmt::format("{}: input {}, the scales of blocks, must be {} uint8", call.title(), scales, wanted));
  }
  return {};
}

Status checkFloat8Inputs(const OperatorCall& call, ElementType result) {
  const bool float4 = call.node.op.starts_with(kPrefix4);
  for (const std::size_t i : {kLeft, kRight}) {
    const ElementType type = call.input(i).element;
    if (float4 ? type == ElementType::float4_121 : graph::isFloat8(type)) continue;
    return badInput(fmt::format("{}: input {} is {}; it must be {}", call.title(), i, graph::toString(type),
                                float4 ? "float4" : "float8"));
  }
  if (isBias(call) && call.input(kThird).element != result)
    return badInput(fmt::format("{}: its bias is {}, but its result is {}", call.title(),
                                graph::toString(call.input(kThird).element), graph::toString(result)));
  if (float4 || !axesOf(call).empty()) return checkBlocks(call);
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
  bool third = false;
  std::int64_t leftScale = 0, rightScale = 0, leftBytes = 0, factorBytes = 0;
  std::vector<BlockLayout> blocks;  ///< of both factors; empty: each has one scale
  Kernel inner;
};

void widenFactors(const KernelArguments& a, const Float8ProductSetup& setup, float* left, float* right) {
  if (!setup.blocks.empty()) {
    widenBlocks(setup.left.element, setup.blocks[0], a.input<std::uint8_t>(kLeft),
                a.input<std::uint8_t>(kLeftScale), left);
    widenBlocks(setup.right.element, setup.blocks[1], a.input<std::uint8_t>(kRight),
                a.input<std::uint8_t>(kRightScale), right);
    return;
  }
  const auto scaleOf = [&](std::size_t input, std::int64_t given) {
    const auto* scale = a.input<std::int32_t>(input);
    return std::ldexp(1.0F, -static_cast<int>(scale ? *scale : given));
  };
  widenFloat8(setup.left.element, a.input<std::uint8_t>(kLeft), left, setup.left.elements(),
              scaleOf(kLeftScale, setup.leftScale));
  widenFloat8(setup.right.element, a.input<std::uint8_t>(kRight), right, setup.right.elements(),
              scaleOf(kRightScale, setup.rightScale));
}

Status runFloat8Product(const KernelArguments& a, const Float8ProductSetup& setup) {
  auto* left = reinterpret_cast<float*>(a.scratch.data());
  auto* right = reinterpret_cast<float*>(a.scratch.data() + setup.leftBytes);
  widenFactors(a, setup, left, right);
  const auto bytesOf = [](const float* first, const TensorType& type) {
    return std::span<const std::byte>(reinterpret_cast<const std::byte*>(first),
                                      static_cast<std::size_t>(type.elements()) * sizeof(float));
  };
  const std::span<const std::byte> inputs[] = {bytesOf(left, setup.left), bytesOf(right, setup.right),
                                               setup.third ? a.inputs[kThird] : std::span<const std::byte>()};
  return setup.inner.run({{inputs, setup.third ? std::size_t{3} : std::size_t{2}},
                          a.outputs,
                          a.scratch.subspan(static_cast<std::size_t>(setup.factorBytes)),
                          a.identity,
                          a.executor});
}

Result<Kernel> float8ProductKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const ElementType result, resultOf(call));
  Float8ProductSetup setup{call.input(kLeft), call.input(kRight), call.has(kThird), 0, 0, 0, 0, {}, {}};
  const std::vector<std::int64_t> scales = graph::intsAttribute(call.node, "scales", {});
  if (scales.size() == 2) setup.leftScale = scales[0], setup.rightScale = scales[1];
  if (!axesOf(call).empty()) setup.blocks = {layoutOf(call, kLeft), layoutOf(call, kRight)};
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
  static const std::vector<std::string> operators{"MatMul",
                                                  "Gemm",
                                                  "Conv",
                                                  "ExpertProduct",
                                                  "GradMatMulLeft",
                                                  "GradMatMulRight",
                                                  "GradConvInput",
                                                  "GradConvWeight",
                                                  "GradExpertProductRows",
                                                  "GradExpertProductWeights"};
  return operators;
}

const std::vector<std::string>& blockProductOperators() {
  static const std::vector<std::string> operators{"MatMul",
                                                  "Gemm",
                                                  "ExpertProduct",
                                                  "GradMatMulLeft",
                                                  "GradMatMulRight",
                                                  "GradExpertProductRows",
                                                  "GradExpertProductWeights"};
  return operators;
}

void addFloat8Products(OperatorRegistry& registry) {
  const auto add = [&](std::string_view prefix, const std::string& name) {
    const OperatorDefinition* plain = registry.find(name);
    PIPESCOPE_CHECK(plain, name + " is no operator");
    OperatorDefinition definition;
    definition.type = std::string(prefix) + name;
    definition.attributes = plain->attributes;
    for (const char* own : {"result", "accumulate"})
      definition.attributes.push_back({own, AttributeKind::text});
    for (const char* own : {"scales", "axes"})
      definition.attributes.push_back({own, AttributeKind::integers});
    definition.minInputs = 2;
    definition.maxInputs = plain->maxInputs > 2 ? 5 : 4;
    definition.infer = inferFloat8Product;
    definition.kernel = float8ProductKernel;
    definition.work = float8ProductWork;
    registry.add(std::move(definition));
  };
  for (const std::string& name : float8ProductOperators()) add(kPrefix, name);
  for (const std::string& name : blockProductOperators()) add(kPrefix4, name);
}

}  // namespace pipescope::ops
