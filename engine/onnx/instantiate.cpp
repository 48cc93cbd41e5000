#include "engine/onnx/instantiate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "engine/onnx/blocks.h"
#include "engine/onnx/gelu_pattern.h"
#include "engine/onnx/graph_reader.h"
#include "engine/onnx/instantiator.h"
#include "engine/onnx/layer_norm_pattern.h"
#include "engine/onnx/weight_roles.h"
#include "engine/ops/core/computed_late.h"
#include "profiler/base/nearest.h"

namespace pipescope::onnx {

using base::badInput;
using base::Result;
using base::Status;
using graph::TensorId;
using graph::TensorRole;

namespace {

bool isFloating(ElementType element) {
  return element <= ElementType::float64;
}

double realOf(const OnnxNode& node, const std::string& name, double fallback) {
  const auto found = node.attributes.find(name);
  const auto* value = found == node.attributes.end() ? nullptr : std::get_if<double>(&found->second);
  return value ? *value : fallback;
}

}  // namespace

std::int64_t intOf(const OnnxNode& node, const std::string& name, std::int64_t fallback) {
  const auto found = node.attributes.find(name);
  const auto* value = found == node.attributes.end() ? nullptr : std::get_if<std::int64_t>(&found->second);
  return value ? *value : fallback;
}

std::shared_ptr<const TensorValue> intsTensor(const std::vector<std::int64_t>& values, bool scalar,
                                              ElementType element) {
  auto made = std::make_shared<TensorValue>();
  made->type = {element, {}};
  if (!scalar) made->type.shape = {static_cast<std::int64_t>(values.size())};
  const auto fill = [&]<class T>(T) {
    for (const std::int64_t value : values) {
      const T one = std::is_same_v<T, std::uint8_t> ? static_cast<T>(value != 0) : static_cast<T>(value);
      const auto* bytes = reinterpret_cast<const std::byte*>(&one);
      made->bytes.insert(made->bytes.end(), bytes, bytes + sizeof one);
    }
  };
  if (element == ElementType::boolean) {
    fill(std::uint8_t{});
  } else if (element == ElementType::int32) {
    fill(std::int32_t{});
  } else {
    fill(std::int64_t{});
  }
  return made;
}

bool canBeAssumed(ElementType element) {
  return element == ElementType::int64 || element == ElementType::int32 || element == ElementType::boolean;
}

Instantiator::Instantiator(const Model& model, const ops::OperatorRegistry& registry,
                           const InstantiateOptions& options)
    : model_(model), registry_(registry), options_(options) {
  for (const auto& [name, values] : options.assumed) {
    if (values.size() == 1) extents_[name] = values[0];
  }
}

std::string Instantiator::unique(const std::string& name) {
  const std::string shown = shownName(name);
  std::string made = shown;
  for (int i = 2; !names_.insert(made).second; ++i) made = fmt::format("{}_{}", shown, i);
  return made;
}

graph::TensorType Instantiator::typeOf(const Slot& slot) const {
  return slot.id.valid() ? instance_.graph.tensor(slot.id).type : slot.known->type;
}

TensorId Instantiator::idOf(Slot& slot) {
  if (!slot.id.valid() && slot.known)
    slot.id = instance_.graph.addConstant(unique(slot.name), slot.known->type, slot.known->bytes);
  return slot.id;
}

namespace {

/// Name that [model.assume] has for an open axis: its symbol, or else "x_axis_2".
std::string nameOfAxis(const std::string& input, std::size_t axis, const Dimension& dimension) {
  return dimension.symbol.empty() ? fmt::format("{}_axis_{}", input, axis) : shownName(dimension.symbol);
}

/// The names of all values of a graph and of the graphs within it.
void addValueNames(const OnnxGraph& graph, std::set<std::string>& names) {
  for (const ModelValue& value : graph.values) names.insert(shownName(value.name));
  for (const OnnxNode& node : graph.nodes)
    for (const auto& [name, body] : node.bodies) addValueNames(*body, names);
}

}  // namespace

Status Instantiator::checkNames() const {
  if (options_.assumed.empty()) return {};
  std::set<std::string> names;
  addValueNames(model_.graph, names);
  for (const ValueId input : model_.graph.inputs) {
    const ModelValue& value = model_.graph.value(input);
    for (std::size_t axis = 0; value.shape && axis < value.shape->size(); ++axis)
      if (!(*value.shape)[axis].extent)
        names.insert(nameOfAxis(shownName(value.name), axis, (*value.shape)[axis]));
  }
  for (const auto& [name, values] : options_.assumed) {
    if (names.contains(name)) continue;
    return badInput(fmt::format(
        "{}: model.assume gives {}, but neither an open extent of an input nor a value of the model has that "
        "name{}",
        model_.file, name, base::didYouMean(name, {names.begin(), names.end()})));
  }
  return {};
}

/// The first axis of each input is that of the batch. Error: names all other open extents that nobody gives.
Status Instantiator::fillOpenExtents() {
  for (const ValueId input : model_.graph.inputs) {
    const auto& shape = model_.graph.value(input).shape;
    if (shape && !shape->empty() && !shape->front().extent && !shape->front().symbol.empty())
      extents_.emplace(shownName(shape->front().symbol), options_.microBatch);
  }
  std::vector<std::string> axes;
  std::set<std::string> missing;
  for (const ValueId input : model_.graph.inputs) {
    const ModelValue& value = model_.graph.value(input);
    const std::string name = shownName(value.name);
    if (!value.shape || options_.assumed.contains(name)) continue;
    for (std::size_t axis = 1; axis < value.shape->size(); ++axis) {
      const Dimension& dimension = (*value.shape)[axis];
      const std::string key = nameOfAxis(name, axis, dimension);
      if (dimension.extent || extents_.contains(key)) continue;
      axes.push_back(fmt::format("axis {} of the input {}", axis, name));
      missing.insert(key);
    }
  }
  if (axes.empty()) return {};
  std::vector<std::string> examples;
  for (const std::string& key : missing) examples.push_back(key + " = 128");
  return badInput(fmt::format("{}: {} {} open: give the extent{} in model.assume, as {}.", model_.file,
                              fmt::join(axes, ", "), axes.size() == 1 ? "is" : "are",
                              axes.size() == 1 ? "" : "s", fmt::join(examples, ", ")));
}

/// Adds inputs with the extents that the options give. A value in [model.assume] fixes an input of whole
/// numbers or of truth values.
Status Instantiator::addInputs(Frame& frame) {
  for (const ValueId input : frame.graph.inputs) {
    const ModelValue& value = frame.graph.value(input);
    const std::string name = shownName(value.name);
    if (!value.element || !value.shape)
      return badInput(
          fmt::format("{}: the file does not say of what type the input {} is.", model_.file, name));
    if (const auto given = options_.assumed.find(name);
        given != options_.assumed.end() && canBeAssumed(*value.element)) {
      usedAssumptions_.insert(name);
      frame.at(input) = {TensorId(), intsTensor(given->second, value.shape->empty(), *value.element), name};
      continue;
    }
    graph::TensorType type{*value.element, {}};
    for (std::size_t axis = 0; axis < value.shape->size(); ++axis) {
      const Dimension& dimension = (*value.shape)[axis];
      std::optional<std::int64_t> extent = dimension.extent;
      if (!extent) {
        const std::string key = nameOfAxis(name, axis, dimension);
        const auto known = extents_.find(key);
        extent = known == extents_.end() ? options_.microBatch : known->second;
        usedAssumptions_.insert(key);
      }
      if (*extent < 1)
        return badInput(
            fmt::format("{}: axis {} of the input {} would have the extent {}; it must be at least 1.",
                        model_.file, axis, name, *extent));
      type.shape.push_back(*extent);
    }
    PIPESCOPE_TRY(checkedBytes(type, fmt::format("{}: the input {}", model_.file, name)));
    Slot& slot = frame.at(input);
    slot.id = instance_.graph.addTensor(unique(value.name), type, TensorRole::input);
    slot.name = name;
    instance_.graph.inputs.push_back(slot.id);
  }
  return {};
}

/// Weights that some operator learns, or that are statistics of a training batch norm.
std::set<ValueId> Instantiator::learningWeights(const OnnxGraph& graph) const {
  std::set<ValueId> learning;
  for (const OnnxNode& node : graph.nodes) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (!holdsSettings(node.op, i) || movesStatistics(node)) learning.insert(node.inputs[i]);
    }
    for (const auto& [name, body] : node.bodies) {
      for (const auto& [outer, inner] : body->captured) learning.insert(outer);
    }
  }
  return learning;
}

void Instantiator::addWeights(Frame& frame) {
  for (const auto& [id, value] : frame.graph.constants) {
    frame.at(id).known = value;
    frame.at(id).name = frame.graph.value(id).name;
  }
  const std::set<ValueId> learning = learningWeights(frame.graph);
  for (const ValueId id : frame.graph.weights) {
    Slot& slot = frame.at(id);
    const std::string& name = frame.graph.value(id).name;
    const auto named = [&](const std::vector<std::string>& patterns) {
      return std::ranges::any_of(patterns, [&](const auto& p) { return matches(p, name); });
    };
    if (named(options_.frozen) || !isFloating(slot.known->type.element) ||
        (slot.known->type.shape.empty() && !named(options_.scalarWeights)) || slot.known->bytes.empty() ||
        !learning.contains(id) || isMask(*slot.known))
      continue;
    graph::Initializer initializer;
    initializer.kind = graph::Initializer::Kind::values;
    initializer.values = slot.known;
    slot.id = instance_.graph.addParameter(unique(name), slot.known->type, initializer);
    instance_.weightOf[instance_.graph.tensor(slot.id).name] = name;
    slot.known.reset();
  }
}

Status Instantiator::addNodes(Frame& frame) {
  for (const OnnxNode& node : frame.graph.nodes) {
    if (instance_.graph.nodes().size() > options_.maxNodes) {
      return badInput(fmt::format("{}: {} {}: the model has more than {} nodes once its loops are unrolled.",
                                  model_.file, node.op, node.name, options_.maxNodes));
    }
    const Status added = addNode(frame, node);
    if (added.ok()) {
      PIPESCOPE_TRY(assume(frame, node));
      continue;
    }
    const std::string message = added.error().message + adviceFor(frame, node, added.error().message);
    return base::Error{added.error().kind,
                       message.starts_with(model_.file) ? message : model_.file + ": " + message};
  }
  return {};
}

Status Instantiator::addNode(Frame& frame, const OnnxNode& node) {
  if (node.op == "If") return addIf(frame, node);
  if (node.op == "Loop") return addLoop(frame, node);
  if (node.op == "Scan") return addScan(frame, node);
  PIPESCOPE_ASSIGN(const bool simple, simplified(frame, node));
  if (simple) return {};
  PIPESCOPE_ASSIGN(const bool known, folded(frame, node));
  if (known) return {};
  return appendTo(frame, node, movesStatistics(node) ? Statistics::learned : Statistics::fixed);
}

/// The end of a sentence that refuses a node because of a value that is only computed while the model runs.
std::string Instantiator::adviceFor(Frame& frame, const OnnxNode& node, const std::string& message) const {
  if (message.find(ops::kComputedLate) == std::string::npos) return {};
  for (const ValueId input : node.inputs) {
    if (!input.valid()) continue;
    const Slot& slot = frame.at(input);
    if (slot.known || !slot.given() || !canBeAssumed(typeOf(slot).element)) continue;
    const std::string name = shownName(frame.graph.value(input).name);
    return fmt::format(": give {} in model.assume, as {} = {}, or compute the model with `pipescope infer`",
                       name, name, typeOf(slot).shape.empty() ? "4" : "[4, 128]");
  }
  return "; `pipescope infer` computes such models";
}

/// A value in [model.assume] replaces what the node makes.
Status Instantiator::assume(Frame& frame, const OnnxNode& node) {
  for (const ValueId output : node.outputs) {
    if (!output.valid()) continue;
    const auto given = options_.assumed.find(shownName(frame.graph.value(output).name));
    if (given == options_.assumed.end()) continue;
    usedAssumptions_.insert(given->first);
    Slot& slot = frame.at(output);
    const graph::TensorType type = slot.given() ? typeOf(slot) : graph::TensorType{ElementType::int64, {1}};
    if (!canBeAssumed(type.element))
      return badInput(fmt::format(
          "{}: model.assume gives {}, which is {}; only whole numbers and truth values can be given.",
          model_.file, given->first, graph::toString(type)));
    slot = {TensorId(), intsTensor(given->second, type.shape.empty(), type.element),
            frame.graph.value(output).name};
  }
  return {};
}

/// Exporters store equal initializers once, so that the bias of a new model and the mean of its norm may be
/// the same zeros. The bias is trained; the mean stays as the file has it.
TensorId Instantiator::settingOf(TensorId id) {
  if (!id.valid() || instance_.graph.tensor(id).role != TensorRole::parameter) return id;
  const auto [copy, isNew] = settings_.try_emplace(id);
  if (isNew) {
    const TensorValue& value = *instance_.graph.initializer(id).values;
    copy->second =
        instance_.graph.addConstant(unique(instance_.graph.tensor(id).name), value.type, value.bytes);
  }
  return copy->second;
}

namespace {

/// Replaces the last node of a pattern by one operator, which is one pass over memory instead of five or
/// nine. PopTorch does the same. The nodes before it are dropped if nothing else reads them.
void joinPattern(const graph::Graph& graph, graph::Node& node) {
  if (node.inputs.size() != 2) return;
  if (node.op == "Mul") {
    if (const std::optional<TensorId> x = geluArgument(graph, node.inputs[0], node.inputs[1])) {
      node.op = "Gelu";
      node.inputs = {*x};
    }
  } else if (node.op == "Add") {
    if (const auto parts = layerNormParts(graph, node.inputs[0], node.inputs[1])) {
      node.op = "LayerNormalization";
      node.inputs = {parts->x, parts->scale, parts->bias};
      node.attributes = {{"axis", parts->axis}, {"epsilon", parts->epsilon}};
    }
  }
}

}  // namespace

Status Instantiator::appendTo(Frame& frame, const OnnxNode& node, Statistics statistics) {
  graph::Node made;
  made.op = node.op;
  made.name = frame.path + node.name;
  for (int i = 2; !nodeNames_.insert(made.name).second; ++i)
    made.name = fmt::format("{}{}_{}", frame.path, node.name, i);
  made.block = "model";
  made.attributes = node.attributes;
  if (options_.training && movesStatistics(node)) made.attributes.erase("unbiased");  // see addStateUpdates()
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId input = node.inputs[i];
    const Slot* slot = input.valid() ? &frame.at(input) : nullptr;
    // Old exporters write an empty tensor for regions or scales of Resize that are left out.
    const bool empty = slot && slot->known && slot->known->bytes.empty() && node.op == "Resize";
    const TensorId id = slot && !empty ? idOf(frame.at(input)) : TensorId();
    made.inputs.push_back(statistics == Statistics::fixed && holdsSettings(node.op, i) ? settingOf(id) : id);
  }
  std::size_t outputs = node.outputs.size();
  while (outputs > 1 && !node.outputs[outputs - 1].valid()) --outputs;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < outputs; ++i) {
    names.push_back(
        unique(frame.path + (node.outputs[i].valid() ? frame.graph.value(node.outputs[i]).name
                                                     : fmt::format("{}/output_{}", node.name, i))));
  }
  joinPattern(instance_.graph, made);
  const std::vector<TensorId> inputs = made.inputs;
  PIPESCOPE_ASSIGN(const std::vector<TensorId> ids, ops::appendNode(instance_.graph, std::move(made), names,
                                                                    TensorRole::activation, registry_));
  for (const TensorId id : ids) {
    const graph::Tensor& tensor = instance_.graph.tensor(id);
    PIPESCOPE_TRY(checkedBytes(tensor.type, node.op + " " + node.name + ": its output"));
  }
  for (std::size_t i = 0; i < outputs; ++i) {
    if (node.outputs[i].valid()) frame.at(node.outputs[i]) = {ids[i], nullptr, names[i]};
  }
  return addStateUpdates(node, inputs, ids);
}

/// ONNX: running = momentum·running + (1 − momentum)·(statistic of the batch), with the variance of a
/// population. With our attribute `unbiased`, it becomes that of a sample.
Status Instantiator::addStateUpdates(const OnnxNode& node, const std::vector<TensorId>& inputs,
                                     const std::vector<TensorId>& outputs) {
  if (!options_.training) return {};
  if (node.op == "AssignState") return addAssignment(node, inputs[0], outputs[0]);
  if (!movesStatistics(node)) return {};
  const graph::TensorType& x = instance_.graph.tensor(inputs[0]).type;
  const auto count = static_cast<double>(x.elements() / std::max<std::int64_t>(1, x.shape[1]));
  const bool unbiased = intOf(node, "unbiased", 0) != 0 && count > 1;
  for (std::size_t i = 1; i < outputs.size() && i + 2 < inputs.size(); ++i) {
    const TensorId statistic = inputs[i + 2];
    if (instance_.graph.tensor(statistic).role != TensorRole::parameter) continue;
    instance_.graph.stateUpdates.push_back({.parameter = statistic,
                                            .result = outputs[i],
                                            .keep = realOf(node, "momentum", 0.9),
                                            .scale = unbiased && i == 2 ? count / (count - 1) : 1});
  }
  return {};
}

/// The first input of AssignState is the old value of a parameter, perhaps through nodes that only pass it
/// on.
Status Instantiator::addAssignment(const OnnxNode& node, TensorId old, TensorId result) {
  const graph::Graph& graph = instance_.graph;
  while (graph.tensor(old).role == TensorRole::activation) {
    const graph::Node& producer = graph.node(graph.tensor(old).producer);
    if (producer.op != "StopGradient" && producer.op != "Identity") break;
    old = producer.inputs[0];
  }
  if (graph.tensor(old).role != TensorRole::parameter) {
    return badInput(fmt::format("{}: AssignState {}: {} is no weight of the model that can be assigned.",
                                model_.file, node.name, graph.tensor(old).name));
  }
  instance_.graph.stateUpdates.push_back({.parameter = old, .result = result, .keep = 0});
  return {};
}

bool Instantiator::isAssigned(TensorId id) const {
  const graph::Tensor& tensor = instance_.graph.tensor(id);
  return tensor.producer.valid() && instance_.graph.node(tensor.producer).op == "AssignState";
}

Status Instantiator::addOutputs(Frame& frame) {
  for (const ValueId output : frame.graph.outputs) {
    Slot& slot = frame.at(output);
    if (!slot.given())
      return badInput(
          fmt::format("{}: nothing provides the output {}.", model_.file, frame.graph.value(output).name));
    const TensorId id = idOf(slot);
    if (!isAssigned(id)) instance_.graph.outputs.push_back(id);
  }
  return {};
}

Status Instantiator::checkStatistics() const {
  for (const graph::StateUpdate& update : instance_.graph.stateUpdates) {
    if (isAssigned(update.result)) continue;
    std::vector<std::string> readers;
    for (const graph::Node& node : instance_.graph.nodes()) {
      for (const TensorId input : node.inputs) {
        if (input == update.parameter) readers.push_back(shownName(node.name));
      }
    }
    if (readers.size() > 1)
      return badInput(fmt::format(
          "{}: {} is a running statistic of BatchNormalization {} and is also read by {}: training "
          "would give them one value. Export the model so that equal initializers are not shared "
          "(PyTorch: training=TrainingMode.TRAINING).",
          model_.file, instance_.graph.tensor(update.parameter).name, readers[0], readers[1]));
  }
  return {};
}

Status Instantiator::checkAssumptions() const {
  for (const auto& [name, values] : options_.assumed) {
    if (!usedAssumptions_.contains(name))
      return badInput(fmt::format(
          "{}: model.assume gives {}, but nothing needs it: it is no open extent of an input, and no node "
          "computes it.",
          model_.file, name));
  }
  return {};
}

Result<Instance> Instantiator::run() {
  Frame frame{model_.graph, "", base::IdVector<ValueId, Slot>(model_.graph.values.size())};
  PIPESCOPE_TRY(checkNames());
  PIPESCOPE_TRY(fillOpenExtents());
  PIPESCOPE_TRY(addInputs(frame));
  addWeights(frame);
  PIPESCOPE_TRY(addNodes(frame));
  PIPESCOPE_TRY(addOutputs(frame));
  PIPESCOPE_TRY(checkAssumptions());
  PIPESCOPE_TRY(checkStatistics());
  instance_.graph = withoutDeadNodes(instance_.graph);
  return std::move(instance_);
}

Result<Instance> instantiate(const Model& model, const ops::OperatorRegistry& registry,
                             const InstantiateOptions& options) {
  return Instantiator(model, registry, options).run();
}

}  // namespace pipescope::onnx
