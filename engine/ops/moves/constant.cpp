// Constant gives a value that the node holds, and ConstantOfShape fills a shape with one number. The device
// holds both before the model runs.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "engine/ops/core/common_work.h"
#include "engine/ops/core/shape_tools.h"

namespace pipescope::ops {
namespace {

using base::badInput;

template <class T, class Values>
graph::TensorValue listOf(ElementType element, const Values& values, bool scalar) {
  graph::TensorValue result;
  result.type = {element, scalar ? Shape{} : Shape{static_cast<std::int64_t>(values.size())}};
  for (const auto& value : values) {
    const T number = static_cast<T>(value);
    const auto raw = std::as_bytes(std::span(&number, 1));
    result.bytes.insert(result.bytes.end(), raw.begin(), raw.end());
  }
  return result;
}

Result<graph::TensorValue> valueOf(const OperatorCall& call) {
  if (call.node.attributes.size() != 1) {
    return badInput(fmt::format("{}: give one of value, value_float, value_floats, value_int and value_ints",
                                call.title()));
  }
  const Node& node = call.node;
  if (const graph::TensorValue* value = graph::tensorAttribute(node, "value")) return *value;
  const std::string& name = node.attributes.begin()->first;
  if (name == "value_int") {
    return listOf<std::int64_t>(ElementType::int64, Ints{graph::intAttribute(node, name, 0)}, true);
  }
  if (name == "value_ints") {
    return listOf<std::int64_t>(ElementType::int64, graph::intsAttribute(node, name, {}), false);
  }
  if (name == "value_floats")
    return listOf<float>(ElementType::float32, graph::floatsAttribute(node, name, {}), false);
  if (name == "value_float") {
    return listOf<float>(ElementType::float32, std::vector<double>{graph::floatAttribute(node, name, 0)},
                         true);
  }
  return badInput(fmt::format("{}: its value is not given", call.title()));
}

Result<std::vector<TensorType>> inferConstant(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const graph::TensorValue value, valueOf(call));
  return std::vector<TensorType>{value.type};
}

Result<Kernel> constantKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(graph::TensorValue value, valueOf(call));
  return Kernel{[bytes = std::move(value.bytes)](const KernelArguments& a) -> Status {
                  std::ranges::copy(bytes, a.outputs[0].begin());
                  return {};
                },
                0};
}

/// The number to fill with: a float32 0 if the node does not say.
Result<graph::TensorValue> fillOf(const OperatorCall& call) {
  const graph::TensorValue* value = graph::tensorAttribute(call.node, "value");
  if (!value) return listOf<float>(ElementType::float32, std::vector<double>{0.0}, false);
  if (value->type.elements() == 1) return *value;
  return badInput(
      fmt::format("{}: value is {}; it must be one number", call.title(), graph::toString(value->type)));
}

Result<std::vector<TensorType>> inferConstantOfShape(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const graph::TensorValue fill, fillOf(call));
  PIPESCOPE_ASSIGN(Ints shape, call.constantInts(0, "its shape (input 0)"));
  return inferredAs(call, fill.type.element, std::move(shape));
}

Result<Kernel> constantOfShapeKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(graph::TensorValue fill, fillOf(call));
  return Kernel{[bytes = std::move(fill.bytes)](const KernelArguments& a) -> Status {
                  const std::span<std::byte> to = a.outputs[0];
                  for (std::size_t at = 0; at < to.size(); at += bytes.size())
                    std::memcpy(to.data() + at, bytes.data(), bytes.size());
                  return {};
                },
                0};
}

std::vector<Work> constantOfShapeWork(const OperatorCall& call) {
  const TensorType& y = call.outputs[0];
  return {{Rearrange{y.elements(), y.elements(), y.element}, 1, "Fill"}};
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(constant) {
  registry.add({.type = "Constant",
                .attributes = {{"value", AttributeKind::tensor},
                               {"value_float", AttributeKind::real},
                               {"value_floats", AttributeKind::reals},
                               {"value_int", AttributeKind::integer},
                               {"value_ints", AttributeKind::integers}},
                .minInputs = 0,
                .maxInputs = 0,
                .infer = inferConstant,
                .kernel = constantKernel,
                .work = noWork});
  registry.add({.type = "ConstantOfShape",
                .attributes = {{"value", AttributeKind::tensor}},
                .infer = inferConstantOfShape,
                .kernel = constantOfShapeKernel,
                .work = constantOfShapeWork});
}

}  // namespace pipescope::ops
