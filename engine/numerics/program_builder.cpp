#include "engine/numerics/program_builder.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/numerics/combine_moves.h"
#include "engine/numerics/combine_nodes.h"
#include "engine/ops/dense/linear.h"
#include "engine/ops/moves/strided_move.h"

namespace pipescope::numerics {

using base::badInput;
using base::Status;
using graph::TensorId;

namespace {
bool isFloatingPoint(graph::ElementType type) {
  using graph::ElementType;
  return type == ElementType::float32 || type == ElementType::float64 || type == ElementType::float16 ||
         type == ElementType::bfloat16;
}
bool isParameter(const graph::Tensor& tensor) {
  return tensor.role == graph::TensorRole::parameter;
}
}  // namespace

ProgramBuilder::ProgramBuilder(const graph::Graph& graph, const ops::OperatorRegistry& registry)
    : graph_(graph), registry_(registry), places_(graph.tensors().size()) {}

const ops::OperatorDefinition& ProgramBuilder::definitionOf(const graph::Node& node) const {
  for (const ops::OperatorDefinition* own :
       {&ops::linearDefinition(), &ops::stridedReadDefinition(), &ops::stridedWriteDefinition()}) {
    if (node.op == own->type) return *own;
  }
  return *registry_.find(node.op);
}

base::Result<GraphProgram> ProgramBuilder::build() {
  PIPESCOPE_TRY(ops::checkShapes(graph_, registry_));
  nodes_ = combineMoves(graph_, combineNodes(graph_));
  PIPESCOPE_TRY(placeOutside());
  findLastUses();
  PIPESCOPE_TRY(makeKernels());
  makeBuffers();
  placeInArena();
  makeSteps();
  return std::move(program_);
}

/// Inputs, weights, constants and weight gradients have memory outside the arena.
Status ProgramBuilder::placeOutside() {
  for (const graph::Tensor& tensor : graph_.tensors()) {
    // A constant may be empty, for example the shape of a scalar.
    if (tensor.type.elements() == 0 && tensor.role != graph::TensorRole::constant)
      return badInput(fmt::format("tensor {} ({}) has no elements to compute", tensor.name,
                                  graph::toString(tensor.type)));
    place(tensor.id).bytes = tensor.type.bytes().count;
    if (isParameter(tensor)) {
      place(tensor.id) = {Place::Kind::weight, static_cast<std::int64_t>(program_.weights_.size()),
                          tensor.type.bytes().count};
      program_.weights_.push_back(tensor.id);
    } else if (tensor.role == graph::TensorRole::constant) {
      const graph::Constant* value = graph_.constant(tensor.id);
      if (!value)
        return badInput(
            fmt::format("constant {} has no value; without one the model cannot be computed", tensor.name));
      place(tensor.id) = {Place::Kind::constant, static_cast<std::int64_t>(program_.constants_.size()),
                          tensor.type.bytes().count};
      program_.constants_.push_back(value->bytes());
      program_.constantNames_.push_back(tensor.name);
    } else if (tensor.role == graph::TensorRole::input) {
      const auto found = std::ranges::find(graph_.inputs, tensor.id);
      if (found == graph_.inputs.end())
        return badInput(fmt::format("input {} is not among the graph's inputs", tensor.name));
      place(tensor.id) = {Place::Kind::input, found - graph_.inputs.begin(), tensor.type.bytes().count};
    }
  }
  for (const auto& [parameter, gradient] : graph_.parameterGradients) {
    const Place own{Place::Kind::gradient, static_cast<std::int64_t>(program_.gradients_.size()),
                    place(gradient).bytes};
    program_.gradients_.push_back(parameter);
    if (place(gradient).kind == Place::Kind::none) {
      place(gradient) = own;
    } else {
      program_.copies_.emplace_back(place(gradient), own);
    }
  }
  return {};
}

void ProgramBuilder::findLastUses() {
  lastUse_.assign(graph_.tensors().size(), -1);
  readers_.assign(graph_.tensors().size(), 0);
  for (const graph::Node& node : nodes_) {
    for (const TensorId input : node.inputs) {
      if (!input.valid()) continue;
      lastUse_[input] = node.id.value;
      ++readers_[input];
    }
  }
  const auto end = static_cast<std::int64_t>(nodes_.size());
  for (const TensorId output : graph_.outputs) lastUse_[output] = end;
  if (graph_.loss) lastUse_[*graph_.loss] = end;
  for (const graph::StateUpdate& update : graph_.stateUpdates) lastUse_[update.result] = end;
}

Status ProgramBuilder::makeKernels() {
  for (const graph::Node& node : nodes_) {
    const ops::OperatorDefinition& definition = definitionOf(node);
    if (!definition.kernel) {
      return badInput(
          fmt::format("node {}: operator {} can be emulated, but not computed; run without numerics",
                      node.name, node.op));
    }
    const graph::Node* relu = reluBehind(node);
    PIPESCOPE_ASSIGN(ops::Kernel kernel,
                     (relu ? definition.kernelWithRelu : definition.kernel)(ops::callOf(graph_, node)));
    kernels_.push_back(std::move(kernel));
    reluOf_.push_back(relu);
  }
  return {};
}

/// The Relu that alone reads the output of the node, if the kernel of the node can compute it too; otherwise
/// null.
const graph::Node* ProgramBuilder::reluBehind(const graph::Node& node) const {
  if (!definitionOf(node).kernelWithRelu || !node.outputs[0].valid()) return nullptr;
  const TensorId output = node.outputs[0];
  if (!isFloatingPoint(graph_.tensor(node.outputs[0]).type.element)) return nullptr;
  if (readers_[output] != 1 || place(node.outputs[0]).kind != Place::Kind::none) return nullptr;
  if (lastUse_[output] >= static_cast<std::int64_t>(nodes_.size())) return nullptr;
  const graph::Node& reader = nodes_[graph::NodeId(lastUse_[output])];
  return reader.op == "Relu" ? &reader : nullptr;
}

std::int64_t ProgramBuilder::takeOver(const graph::Node& node) const {
  const int index = definitionOf(node).inPlaceInput;
  if (index < 0 || static_cast<std::size_t>(index) >= node.inputs.size()) return -1;
  const TensorId input = node.inputs[static_cast<std::size_t>(index)];
  if (!input.valid() || place(input).kind != Place::Kind::arena ||
      std::ranges::count(node.inputs, input) != 1)
    return -1;
  const std::int64_t buffer = place(input).at;
  // The buffer may hold several tensors by now. All of them must have had their last use.
  if (buffers_[static_cast<std::size_t>(buffer)].last > node.id.value) return -1;
  return place(input).bytes == place(node.outputs[0]).bytes ? buffer : -1;
}

void ProgramBuilder::makeBuffers() {
  for (const graph::Node& node : nodes_) {
    const std::int64_t at = node.id.value;
    for (const TensorId output : node.outputs) {
      if (!output.valid() || place(output).kind == Place::Kind::gradient) continue;
      const std::int64_t last = std::max(at, lastUse_[output]);
      std::int64_t buffer = output == node.outputs[0] ? takeOver(node) : -1;
      if (buffer < 0) {
        buffer = static_cast<std::int64_t>(buffers_.size());
        buffers_.push_back({place(output).bytes, at, last});
      }
      buffers_[static_cast<std::size_t>(buffer)].last = last;
      place(output).kind = Place::Kind::arena;
      place(output).at = buffer;
    }
    const std::int64_t scratchBytes = kernels_[node.id].scratchBytes;
    scratch_.push_back(scratchBytes > 0 ? static_cast<std::int64_t>(buffers_.size()) : -1);
    if (scratchBytes > 0) buffers_.push_back({scratchBytes, at, at});
  }
}

void ProgramBuilder::placeInArena() {
  const BufferOffsets plan = placeBuffers(buffers_);
  program_.arenaBytes_ = plan.bytes;
  for (Place& each : places_) {
    if (each.kind == Place::Kind::arena) each.at = plan.offsets[static_cast<std::size_t>(each.at)];
  }
  for (std::int64_t& scratch : scratch_)
    scratch = scratch < 0 ? 0 : plan.offsets[static_cast<std::size_t>(scratch)];
}

void ProgramBuilder::makeSteps() {
  base::IdVector<graph::NodeId, bool> done(nodes_.size());
  for (const graph::Node& node : nodes_) {
    // A Relu within the kernel of another node works on the same memory.
    if (done[node.id]) {
      PIPESCOPE_CHECK(place(node.inputs[0]).at == place(node.outputs[0]).at, node.name);
      continue;
    }
    if (const graph::Node* relu = reluOf_[node.id]) done[relu->id] = true;
    GraphProgram::Step step{std::move(kernels_[node.id]), {}, {}, scratch_[node.id], 0};
    if (node.op == "ReplicaSum") step.group = graph::intAttribute(node, "replicas", 1);
    program_.exchanges_ = program_.exchanges_ || step.group > 1;
    for (const TensorId input : node.inputs) step.inputs.push_back(input.valid() ? place(input) : Place());
    for (const TensorId output : node.outputs)
      step.outputs.push_back(output.valid() ? place(output) : Place());
    program_.steps_.push_back(std::move(step));
    program_.checked_.push_back(CheckedNode::of(graph_, node));
  }
  for (const TensorId output : graph_.outputs) program_.outputs_.push_back(place(output));
  if (graph_.loss) program_.loss_ = place(*graph_.loss);
  for (const graph::StateUpdate& update : graph_.stateUpdates)
    program_.stateResults_.push_back(place(update.result));
}

}  // namespace pipescope::numerics
