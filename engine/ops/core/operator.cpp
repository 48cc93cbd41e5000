#include "engine/ops/core/operator.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "engine/graph/validate.h"
#include "engine/ops/core/computed_late.h"

namespace pipescope::ops {

using base::badInput;

const TensorType& OperatorCall::input(std::size_t index) const {
  PIPESCOPE_CHECK(has(index), title() + " has no input " + std::to_string(index));
  return *inputs[index];
}

std::string OperatorCall::title() const {
  return node.op + " " + node.name;
}

Result<std::vector<std::int64_t>> OperatorCall::constantInts(std::size_t index,
                                                             const std::string& what) const {
  const TensorType& type = input(index);
  if (type.element != ElementType::int64 && type.element != ElementType::int32) {
    return badInput(
        fmt::format("{}: {} is {}; it must be int64 or int32", title(), what, graph::toString(type)));
  }
  if (index >= constants.size() || !constants[index]) {
    return badInput(
        fmt::format("{}: {} {}; it must be a constant of the graph", title(), what, kComputedLate));
  }
  const std::vector<std::byte>& bytes = *constants[index];
  std::vector<std::int64_t> values(static_cast<std::size_t>(type.elements()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (type.element == ElementType::int64) {
      std::memcpy(&values[i], bytes.data() + i * sizeof(std::int64_t), sizeof(std::int64_t));
    } else {
      std::int32_t value = 0;
      std::memcpy(&value, bytes.data() + i * sizeof(value), sizeof(value));
      values[i] = value;
    }
  }
  return values;
}

void OperatorRegistry::add(OperatorDefinition definition) {
  const std::string type = definition.type;
  PIPESCOPE_CHECK(definition.infer && definition.work, type + " lacks inference or work");
  const bool isNew = definitions_.emplace(type, std::move(definition)).second;
  PIPESCOPE_CHECK(isNew, "operator " + type + " is registered twice");
}

const OperatorDefinition* OperatorRegistry::find(const std::string& type) const {
  const auto found = definitions_.find(type);
  return found == definitions_.end() ? nullptr : &found->second;
}

Result<const OperatorDefinition*> OperatorRegistry::require(const Node& node) const {
  if (const OperatorDefinition* definition = find(node.op)) return definition;
  return badInput(fmt::format("node {} is of the operator {}, which is not known; known are {}", node.name,
                              node.op, fmt::join(types(), ", ")));
}

std::vector<std::string> OperatorRegistry::types() const {
  std::vector<std::string> names;
  for (const auto& [type, definition] : definitions_) names.push_back(type);
  return names;
}

namespace {

OperatorCall inputsOf(const graph::Graph& graph, const Node& node, std::size_t outputs) {
  OperatorCall call{node, {}, {}, {}, outputs};
  for (const graph::TensorId input : node.inputs) {
    call.inputs.push_back(input.valid() ? &graph.tensor(input).type : nullptr);
    call.constants.push_back(input.valid() ? graph.constantValue(input) : nullptr);
  }
  return call;
}

Status checkAttributes(const OperatorCall& call, const OperatorDefinition& definition) {
  static constexpr const char* kinds[] = {
      "a whole number",    "a number",        "a text",   "a list of whole numbers",
      "a list of numbers", "a list of texts", "a tensor", "a graph"};
  for (const auto& [name, value] : call.node.attributes) {
    const auto rule = std::ranges::find(definition.attributes, name, &AttributeRule::name);
    if (rule == definition.attributes.end()) {
      std::vector<std::string> known;
      for (const AttributeRule& each : definition.attributes) known.push_back(each.name);
      return badInput(fmt::format("{}: attribute {} is not known; known are {}", call.title(), name,
                                  known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", "))));
    }
    if (value.index() != static_cast<std::size_t>(rule->kind)) {
      return badInput(fmt::format("{}: attribute {} is {}; it must be {}", call.title(), name,
                                  kinds[value.index()], kinds[static_cast<std::size_t>(rule->kind)]));
    }
  }
  return {};
}

Status checkCall(const OperatorCall& call, const OperatorDefinition& definition) {
  const std::size_t given = call.inputs.size();
  if (given < definition.minInputs || given > definition.maxInputs) {
    return badInput(fmt::format("{} has {} inputs; it takes {} to {}", call.title(), given,
                                definition.minInputs, definition.maxInputs));
  }
  for (std::size_t i = 0; i < definition.minInputs; ++i) {
    if (!call.has(i))
      return badInput(fmt::format("{}: input {} is left out, but is needed", call.title(), i));
  }
  if (call.requestedOutputs > definition.maxOutputs) {
    return badInput(fmt::format("{} has {} outputs; it makes at most {}", call.title(), call.requestedOutputs,
                                definition.maxOutputs));
  }
  return checkAttributes(call, definition);
}

}  // namespace

OperatorCall callOf(const graph::Graph& graph, const Node& node) {
  OperatorCall call = inputsOf(graph, node, node.outputs.size());
  for (const graph::TensorId output : node.outputs) {
    call.outputs.push_back(output.valid() ? graph.tensor(output).type : TensorType());
  }
  return call;
}

Result<std::vector<TensorType>> inferCall(const OperatorCall& call, const OperatorRegistry& registry) {
  PIPESCOPE_ASSIGN(const OperatorDefinition* definition, registry.require(call.node));
  PIPESCOPE_TRY(checkCall(call, *definition));
  PIPESCOPE_ASSIGN(std::vector<TensorType> types, definition->infer(call));
  if (types.size() <
      call.requestedOutputs) {  // some outputs depend on an attribute, as the statistics of a batch norm do
    return badInput(fmt::format("{} has {} outputs; with its attributes it makes {}", call.title(),
                                call.requestedOutputs, types.size()));
  }
  types.resize(call.requestedOutputs);
  for (const TensorType& type : types) {
    for (const std::int64_t extent : type.shape) {
      if (extent >= 0) continue;
      return badInput(fmt::format("{}: its output would have the negative extent {}", call.title(), extent));
    }
  }
  return types;
}

Result<std::vector<TensorType>> inferOutputs(const graph::Graph& graph, const Node& node, std::size_t outputs,
                                             const OperatorRegistry& registry) {
  return inferCall(inputsOf(graph, node, outputs), registry);
}

Result<std::vector<graph::TensorId>> appendNode(graph::Graph& graph, Node node,
                                                const std::vector<std::string>& outputNames,
                                                graph::TensorRole role, const OperatorRegistry& registry) {
  PIPESCOPE_ASSIGN(std::vector<TensorType> types, inferOutputs(graph, node, outputNames.size(), registry));
  for (std::size_t i = 0; i < types.size(); ++i) {
    node.outputs.push_back(graph.addTensor(outputNames[i], std::move(types[i]), role));
  }
  std::vector<graph::TensorId> outputs = node.outputs;
  graph.addNode(std::move(node));
  return outputs;
}

Status checkShapes(const graph::Graph& graph, const OperatorRegistry& registry) {
  PIPESCOPE_TRY(graph::validate(graph));
  for (const Node& node : graph.nodes()) {
    PIPESCOPE_ASSIGN(const std::vector<TensorType> types,
                     inferOutputs(graph, node, node.outputs.size(), registry));
    for (std::size_t i = 0; i < types.size(); ++i) {
      if (!node.outputs[i].valid()) continue;
      const graph::Tensor& tensor = graph.tensor(node.outputs[i]);
      if (tensor.type == types[i]) continue;
      return badInput(fmt::format("{} {} makes {} as {}, but the graph says {}", node.op, node.name,
                                  tensor.name, graph::toString(types[i]), graph::toString(tensor.type)));
    }
  }
  return {};
}

Result<std::vector<Work>> workOf(const graph::Graph& graph, const Node& node,
                                 const OperatorRegistry& registry) {
  PIPESCOPE_ASSIGN(const OperatorDefinition* definition, registry.require(node));
  return definition->work(callOf(graph, node));
}

}  // namespace pipescope::ops
