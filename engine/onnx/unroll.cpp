// If, Loop and Scan in a graph with fixed shapes: chooses a branch or unrolls a loop.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "engine/onnx/graph_reader.h"
#include "engine/onnx/instantiator.h"
#include "engine/onnx/scan_lists.h"

namespace pipescope::onnx {

using base::badInput;
using base::Result;
using base::Status;

namespace {

std::string titleOf(const OnnxNode& node) {
  return node.op + " " + node.name;
}

Result<const OnnxGraph*> bodyOf(const OnnxNode& node, const std::string& name, std::size_t inputs,
                                std::size_t outputs) {
  const auto found = node.bodies.find(name);
  if (found == node.bodies.end())
    return badInput(fmt::format("{}: its graph {} is missing.", titleOf(node), name));
  const OnnxGraph& body = *found->second;
  if (body.inputs.size() == inputs && body.outputs.size() == outputs) return &body;
  return badInput(fmt::format("{}: its graph has {} inputs and {} outputs; it must have {} and {}.",
                              titleOf(node), body.inputs.size(), body.outputs.size(), inputs, outputs));
}

template <class T>
std::shared_ptr<const TensorValue> scalar(ElementType element, T value) {
  auto made = std::make_shared<TensorValue>();
  made->type = {element, {}};
  made->bytes.resize(sizeof value);
  std::memcpy(made->bytes.data(), &value, sizeof value);
  return made;
}

/// The value of a condition. Error: it is only computed while the model runs. `name` is that under which
/// model.assume may give it; empty: a loop computes it anew in each iteration.
Result<bool> conditionOf(const OnnxNode& node, const Slot& slot, const std::string& name) {
  if (slot.known && slot.known->type.element == ElementType::boolean && slot.known->bytes.size() == 1)
    return slot.known->bytes[0] != std::byte{0};
  return badInput(fmt::format(
      "{}: its condition depends on the data; a model on emulated devices needs it fixed. {}", titleOf(node),
      name.empty()
          ? "`pipescope infer` computes such models."
          : fmt::format("Give {} in model.assume, as {} = 1, or compute the model with `pipescope infer`.",
                        name, name)));
}

}  // namespace

Result<std::vector<Slot>> Instantiator::addBody(Frame& outer, const OnnxGraph& body, const std::string& path,
                                                const std::vector<Slot>& inputs) {
  Frame frame{body, path, base::IdVector<ValueId, Slot>(body.values.size())};
  for (std::size_t i = 0; i < inputs.size(); ++i) frame.at(body.inputs[i]) = inputs[i];
  for (const auto& [from, to] : body.captured) {
    // A constant becomes a tensor only once, in the graph that holds it.
    if (outer.at(from).known) idOf(outer.at(from));
    frame.at(to) = outer.at(from);
  }
  for (const auto& [id, value] : body.constants)
    frame.at(id) = {graph::TensorId(), value, path + body.value(id).name};
  PIPESCOPE_TRY(addNodes(frame));
  std::vector<Slot> outputs;
  for (const ValueId output : body.outputs) {
    if (!frame.at(output).given())
      return badInput(fmt::format("{}: nothing provides the output {}.", path, body.value(output).name));
    outputs.push_back(frame.at(output));
  }
  return outputs;
}

Result<Slot> Instantiator::addOwn(const std::string& op, const std::string& name, std::vector<Slot> inputs,
                                  graph::Attributes attributes) {
  graph::Node node;
  node.op = op;
  node.name = name;
  for (int i = 2; !nodeNames_.insert(node.name).second; ++i) node.name = fmt::format("{}_{}", name, i);
  node.block = "model";
  node.attributes = std::move(attributes);
  for (Slot& input : inputs) node.inputs.push_back(idOf(input));
  const std::string made = unique(node.name);
  PIPESCOPE_ASSIGN(
      const std::vector<graph::TensorId> ids,
      ops::appendNode(instance_.graph, std::move(node), {made}, graph::TensorRole::activation, registry_));
  return Slot{ids[0], nullptr, made};
}

Status Instantiator::addIf(Frame& frame, const OnnxNode& node) {
  if (node.inputs.size() != 1 || !node.inputs[0].valid())
    return badInput(titleOf(node) + " must have one input, its condition.");
  PIPESCOPE_ASSIGN(const bool condition, conditionOf(node, frame.at(node.inputs[0]),
                                                     shownName(frame.graph.value(node.inputs[0]).name)));
  PIPESCOPE_ASSIGN(const OnnxGraph* body,
                   bodyOf(node, condition ? "then_branch" : "else_branch", 0, node.outputs.size()));
  PIPESCOPE_ASSIGN(const std::vector<Slot> outputs, addBody(frame, *body, frame.path + node.name + "/", {}));
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].valid()) frame.at(node.outputs[i]) = outputs[i];
  }
  return {};
}

Result<Slot> Instantiator::stack(const std::string& name, std::vector<Slot> slices, std::int64_t axis) {
  auto value = std::make_shared<TensorValue>(*scalar(ElementType::int64, axis));
  value->type.shape.assign(1, 1);
  const Slot axes{graph::TensorId(), std::move(value), name + "/axis"};
  for (Slot& slice : slices) {
    PIPESCOPE_ASSIGN(slice, addOwn("Unsqueeze", name + "/unsqueeze", {slice, axes}, {}));
  }
  return addOwn("Concat", name + "/concat", std::move(slices), {{"axis", axis}});
}

Status Instantiator::addLoop(Frame& frame, const OnnxNode& node) {
  const std::size_t carried = node.inputs.size() < 2 ? 0 : node.inputs.size() - 2;
  if (node.outputs.size() < carried)
    return badInput(titleOf(node) + " has fewer outputs than carried values.");
  const std::size_t scans = node.outputs.size() - carried;
  PIPESCOPE_ASSIGN(const OnnxGraph* body, bodyOf(node, "body", carried + 2, node.outputs.size() + 1));
  const auto inputAt = [&](std::size_t i) {
    return i < node.inputs.size() && node.inputs[i].valid() ? frame.at(node.inputs[i]) : Slot();
  };
  const Slot count = inputAt(0), condition = inputAt(1);
  std::int64_t trips = -1;
  if (count.known && count.known->bytes.size() == sizeof trips)
    std::memcpy(&trips, count.known->bytes.data(), sizeof trips);
  if (trips < 0 && count.given()) {
    const std::string name = shownName(frame.graph.value(node.inputs[0]).name);
    return badInput(
        fmt::format("{}: its trip count depends on the data: give {} in model.assume, as {} = 4, or "
                    "compute the model with `pipescope infer`.",
                    titleOf(node), name, name));
  }
  bool more = true;
  if (condition.given()) {
    PIPESCOPE_ASSIGN(more, conditionOf(node, condition, shownName(frame.graph.value(node.inputs[1]).name)));
  }
  std::vector<Slot> state;
  for (std::size_t i = 0; i < carried; ++i) {
    state.push_back(inputAt(i + 2));
    if (!state.back().given()) return badInput(titleOf(node) + ": a carried value is left out.");
  }
  std::vector<std::vector<Slot>> collected(scans);
  for (std::int64_t i = 0; (trips < 0 || i < trips) && more; ++i) {
    if (static_cast<std::size_t>(i) > options_.maxNodes)
      return badInput(fmt::format("{}: the loop would be unrolled more than {} times.", titleOf(node),
                                  options_.maxNodes));
    std::vector<Slot> given{
        {graph::TensorId(), scalar(ElementType::int64, i), node.name + "/trip"},
        {graph::TensorId(), scalar(ElementType::boolean, std::uint8_t{1}), node.name + "/on"}};
    given.insert(given.end(), state.begin(), state.end());
    PIPESCOPE_ASSIGN(const std::vector<Slot> made,
                     addBody(frame, *body, fmt::format("{}{}/{}/", frame.path, node.name, i), given));
    PIPESCOPE_ASSIGN(more, conditionOf(node, made[0], ""));
    state.assign(made.begin() + 1, made.begin() + 1 + static_cast<std::ptrdiff_t>(carried));
    for (std::size_t s = 0; s < scans; ++s) collected[s].push_back(made[1 + carried + s]);
  }
  for (std::size_t s = 0; s < scans; ++s) {
    if (collected[s].empty())
      return badInput(titleOf(node) + ": a loop without iterations gives an empty result.");
    PIPESCOPE_ASSIGN(Slot joined,
                     stack(fmt::format("{}{}/scan_{}", frame.path, node.name, s), collected[s], 0));
    state.push_back(std::move(joined));
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].valid()) frame.at(node.outputs[i]) = state[i];
  }
  return {};
}

Status Instantiator::addScan(Frame& frame, const OnnxNode& node) {
  const auto attribute = node.attributes.find("num_scan_inputs");
  const auto* number =
      attribute == node.attributes.end() ? nullptr : std::get_if<std::int64_t>(&attribute->second);
  if (!number || *number < 1 || static_cast<std::size_t>(*number) > node.inputs.size())
    return badInput(fmt::format("{}: num_scan_inputs must be given and lie in 1 … {}.", titleOf(node),
                                node.inputs.size()));
  const auto scanned = static_cast<std::size_t>(*number);
  const std::size_t states = node.inputs.size() - scanned;
  if (node.outputs.size() < states)
    return badInput(titleOf(node) + " has fewer outputs than carried values.");
  const std::size_t scans = node.outputs.size() - states;
  PIPESCOPE_ASSIGN(const OnnxGraph* body, bodyOf(node, "body", node.inputs.size(), node.outputs.size()));
  std::vector<Slot> state, whole;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const Slot slot = node.inputs[i].valid() ? frame.at(node.inputs[i]) : Slot();
    if (!slot.given()) return badInput(titleOf(node) + ": an input is left out.");
    (i < states ? state : whole).push_back(slot);
  }
  PIPESCOPE_ASSIGN(std::vector<std::int64_t> axes, scanList(node, "scan_input_axes", scanned));
  std::int64_t length = -1;
  for (std::size_t i = 0; i < scanned; ++i) {
    const graph::Shape shape = typeOf(whole[i]).shape;
    const auto rank = static_cast<std::int64_t>(shape.size());
    if (axes[i] < 0) axes[i] += rank;
    if (axes[i] < 0 || axes[i] >= rank)
      return badInput(fmt::format("{}: scan input {} is {} and has no axis {}.", titleOf(node), i,
                                  graph::toString(typeOf(whole[i])), axes[i]));
    const std::int64_t extent = shape[static_cast<std::size_t>(axes[i])];
    if (length >= 0 && extent != length)
      return badInput(fmt::format("{}: its scan inputs have {} and {} steps; they must have the same number.",
                                  titleOf(node), length, extent));
    length = extent;
  }
  PIPESCOPE_ASSIGN(const std::vector<bool> reversed, scanDirections(node, "scan_input_directions", scanned));
  PIPESCOPE_ASSIGN(const std::vector<std::int64_t> outputAxes, scanList(node, "scan_output_axes", scans));
  PIPESCOPE_ASSIGN(const std::vector<bool> outputReversed,
                   scanDirections(node, "scan_output_directions", scans));
  std::vector<std::vector<Slot>> collected(scans);
  for (std::int64_t step = 0; step < length; ++step) {
    const std::string path = fmt::format("{}{}/{}/", frame.path, node.name, step);
    std::vector<Slot> given = state;
    for (std::size_t i = 0; i < scanned; ++i) {
      const std::int64_t at = reversed[i] ? length - 1 - step : step;
      const Slot index{graph::TensorId(), scalar(ElementType::int64, at), path + "step"};
      PIPESCOPE_ASSIGN(Slot slice, addOwn("Gather", fmt::format("{}slice_{}", path, i), {whole[i], index},
                                          {{"axis", axes[i]}}));
      given.push_back(std::move(slice));
    }
    PIPESCOPE_ASSIGN(const std::vector<Slot> made, addBody(frame, *body, path, given));
    state.assign(made.begin(), made.begin() + static_cast<std::ptrdiff_t>(states));
    for (std::size_t s = 0; s < scans; ++s) collected[s].push_back(made[states + s]);
  }
  for (std::size_t s = 0; s < scans; ++s) {
    if (collected[s].empty())
      return badInput(titleOf(node) + ": a loop without iterations gives an empty result.");
    const auto rank = static_cast<std::int64_t>(typeOf(collected[s][0]).shape.size()) + 1;
    if (outputReversed[s]) std::ranges::reverse(collected[s]);
    if (outputAxes[s] < -rank || outputAxes[s] >= rank)
      return badInput(fmt::format("{}: a scan output axis is {}; it must lie in {} … {}.", titleOf(node),
                                  outputAxes[s], -rank, rank - 1));
    const std::int64_t axis = outputAxes[s] < 0 ? outputAxes[s] + rank : outputAxes[s];
    PIPESCOPE_ASSIGN(Slot joined,
                     stack(fmt::format("{}{}/scan_{}", frame.path, node.name, s), collected[s], axis));
    state.push_back(std::move(joined));
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].valid()) frame.at(node.outputs[i]) = state[i];
  }
  return {};
}

}  // namespace pipescope::onnx
