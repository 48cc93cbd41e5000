// The nodes that instantiate() replaces by something simpler before they reach the graph.
#include <algorithm>

#include "engine/onnx/instantiator.h"
#include "engine/onnx/weight_roles.h"

namespace pipescope::onnx {

using base::Result;
using graph::TensorId;
using graph::TensorRole;

namespace {

bool isRead(const OnnxGraph& graph, ValueId id) {
  if (!id.valid()) return false;
  const auto reads = [id](const auto& ids) { return std::ranges::find(ids, id) != ids.end(); };
  return reads(graph.outputs) || std::ranges::any_of(graph.nodes, [&](const OnnxNode& node) {
           return reads(node.inputs) || std::ranges::any_of(node.bodies, [id](const auto& body) {
                    return std::ranges::any_of(body.second->captured,
                                               [id](const auto& p) { return p.first == id; });
                  });
         });
}

/// Returns the result of Shape or Size for a tensor of this shape.
std::vector<std::int64_t> valuesOfShape(const OnnxNode& node, const graph::Shape& shape) {
  if (node.op == "Size") return {graph::elementCount(shape)};
  const auto rank = static_cast<std::int64_t>(shape.size());
  const auto clampAxis = [rank](std::int64_t axis) {
    return std::clamp<std::int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
  };
  const std::int64_t first = clampAxis(intOf(node, "start", 0)), last = clampAxis(intOf(node, "end", rank));
  if (first >= last) return {};
  return {shape.begin() + first, shape.begin() + last};
}

}  // namespace

/// PyTorch's export stores weights with equal values once and reads the others through Identity. If all
/// elements are one number (biases of zeros, scales of ones), the weights only start alike and are separate
/// weights. Other values are taken as one weight that is used in several places, unless nothing is trained.
bool Instantiator::untied(Frame& frame, const OnnxNode& node, const Slot& data) {
  if (node.op != "Identity" || !frame.path.empty() || !data.id.valid() || node.outputs.empty() ||
      !node.outputs[0].valid())
    return false;
  const graph::Tensor from = instance_.graph.tensor(data.id);
  const bool isOutput = std::ranges::find(frame.graph.outputs, node.outputs[0]) != frame.graph.outputs.end();
  if (from.role != TensorRole::parameter || isOutput) return false;
  const graph::Initializer initializer = instance_.graph.initializer(data.id);
  const std::vector<std::byte>& bytes = initializer.values->bytes;
  const auto size = static_cast<std::size_t>(graph::sizeOf(from.type.element));
  const bool oneNumber =
      std::equal(bytes.begin() + static_cast<std::ptrdiff_t>(size), bytes.end(), bytes.begin());
  if (!options_.untied && !oneNumber) return false;
  const std::string& name = frame.graph.value(node.outputs[0]).name;
  Slot& slot = frame.at(node.outputs[0]);
  slot = {instance_.graph.addParameter(unique(name), from.type, initializer), nullptr, name};
  instance_.weightOf[instance_.graph.tensor(slot.id).name] = name;
  return true;
}

/// Simplifies a node. Dropout returns its input in inference, and batch norm uses its stored statistics.
/// Shape and Size are known as soon as types are.
Result<bool> Instantiator::simplified(Frame& frame, const OnnxNode& node) {
  if (node.inputs.empty() || !node.inputs[0].valid() || !frame.at(node.inputs[0]).given()) return false;
  const Slot data = frame.at(node.inputs[0]);
  if (node.op == "Shape" || node.op == "Size") {
    if (node.outputs.empty() || !node.outputs[0].valid()) return true;
    const std::vector<std::int64_t> values = valuesOfShape(node, typeOf(data).shape);
    frame.at(node.outputs[0]) = {TensorId(), intsTensor(values, node.op == "Size"),
                                 frame.graph.value(node.outputs[0]).name};
    return true;
  }
  if (untied(frame, node, data)) return true;
  if (options_.training) return false;
  if (node.op == "Dropout") {
    if (node.outputs.size() > 1 && node.outputs[1].valid()) {
      auto mask = std::make_shared<TensorValue>();
      mask->type = {ElementType::boolean, typeOf(data).shape};
      PIPESCOPE_ASSIGN(const std::int64_t bytes, checkedBytes(mask->type, "Dropout " + node.name));
      mask->bytes.assign(static_cast<std::size_t>(bytes), std::byte{1});
      frame.at(node.outputs[1]) = {TensorId(), mask, frame.graph.value(node.outputs[1]).name};
    }
    if (!node.outputs.empty() && node.outputs[0].valid()) frame.at(node.outputs[0]) = data;
    return true;
  }
  const bool statisticsRead = std::ranges::any_of(
      node.outputs, [&](ValueId id) { return id != node.outputs[0] && isRead(frame.graph, id); });
  if (movesStatistics(node) && !statisticsRead) {
    OnnxNode copy = node;
    copy.attributes["training_mode"] = std::int64_t{0};
    copy.outputs.resize(std::min<std::size_t>(1, copy.outputs.size()));
    PIPESCOPE_TRY(appendTo(frame, copy, Statistics::learned));
    return true;
  }
  return false;
}

Result<bool> Instantiator::folded(Frame& frame, const OnnxNode& node) {
  if (isRandom(node.op)) {
    // Training draws dropout of a constant and random tensors again for every micro-batch.
    return false;
  }
  Values inputs;
  for (const ValueId input : node.inputs) {
    const Slot* slot = input.valid() ? &frame.at(input) : nullptr;
    if (slot && slot->given() && !slot->known) return false;
    inputs.push_back(slot ? slot->known : nullptr);
  }
  // A node that cannot be folded is refused later or stays a node.
  const Result<Values> outputs = evaluate(node, inputs, {registry_, {}, options_.maxFoldedBytes});
  if (!outputs.ok()) return false;
  for (std::size_t i = 0; i < outputs->size(); ++i) {
    if (node.outputs[i].valid())
      frame.at(node.outputs[i]) = {TensorId(), (*outputs)[i],
                                   frame.path + frame.graph.value(node.outputs[i]).name};
  }
  return true;
}

}  // namespace pipescope::onnx
