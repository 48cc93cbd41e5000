#include "engine/numerics/interpreter/interpreter.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

namespace pipescope::numerics {

using base::badInput;
using base::Result;
using base::Status;
using graph::TensorValue;
using onnx::OnnxGraph;
using onnx::OnnxNode;
using onnx::ValueId;
using onnx::Values;

std::int64_t affordableBytes() {
  constexpr std::int64_t kMost = std::int64_t{1} << 33;
  const std::int64_t pages = sysconf(_SC_PHYS_PAGES), each = sysconf(_SC_PAGESIZE);
  if (pages <= 0 || each <= 0) return kMost;
  return std::min(kMost, pages / 2 * each);
}

Interpreter::Interpreter(std::shared_ptr<const onnx::Model> model, const ops::OperatorRegistry& registry,
                         base::Executor& executor, InterpreterOptions options)
    : model_(std::move(model)), registry_(registry), executor_(executor), options_(options) {}

const NodeOrder& Interpreter::orderOf(const OnnxGraph& graph) {
  const std::scoped_lock lock(mutex_);
  std::unique_ptr<const NodeOrder>& known = orders_[&graph];
  if (!known) known = std::make_unique<const NodeOrder>(graph);
  return *known;
}

std::int64_t Interpreter::bytesLeft() const {
  return std::max<std::int64_t>(0, options_.maxBytes - *liveBytes_);
}

ValuePointer Interpreter::counted(ValuePointer value) {
  if (!value) return value;
  const auto bytes = static_cast<std::int64_t>(value->bytes.size());
  *liveBytes_ += bytes;
  const TensorValue* raw = value.get();
  return {raw, [held = std::move(value), live = liveBytes_, bytes](const TensorValue*) { *live -= bytes; }};
}

Status Interpreter::countStep(const OnnxNode& node) {
  if (++steps_ <= options_.maxSteps) return {};
  return badInput(fmt::format("{} {}: more than {} nodes have run; a loop of the model does not end.",
                              node.op, node.name, options_.maxSteps));
}

Result<Values> Interpreter::runNode(const OnnxNode& node, const onnx::ValuesById& values,
                                    const std::string& path) {
  PIPESCOPE_TRY(countStep(node));
  Values inputs;
  for (const ValueId id : node.inputs) inputs.push_back(id.valid() ? values[id] : nullptr);
  if (onnx::isControlFlow(node.op)) {
    const ControlFlowCall call{node, std::move(inputs), values, path};
    return node.op == "If"     ? runIf(call, *this)
           : node.op == "Loop" ? runLoop(call, *this)
                               : runScan(call, *this);
  }
  const onnx::Evaluation evaluation{registry_, options_.identity, bytesLeft()};
  Values outputs;
  if (!path.empty() && onnx::isRandom(node.op)) {
    OnnxNode placed = node;
    placed.name = path + node.name;
    PIPESCOPE_ASSIGN(outputs, onnx::evaluate(placed, inputs, evaluation));
  } else {
    PIPESCOPE_ASSIGN(outputs, onnx::evaluate(node, inputs, evaluation));
  }
  for (auto& output : outputs) output = counted(std::move(output));
  return outputs;
}

Result<Values> Interpreter::runGraph(const OnnxGraph& graph, Values inputs, const Values& captured,
                                     const std::string& path) {
  PIPESCOPE_CHECK(inputs.size() == graph.inputs.size() && captured.size() == graph.captured.size(),
                  graph.name);
  GraphRun run(graph, orderOf(graph), executor_);
  for (std::size_t i = 0; i < inputs.size(); ++i) run.set(graph.inputs[i], std::move(inputs[i]));
  for (std::size_t i = 0; i < captured.size(); ++i) run.set(graph.captured[i].second, captured[i]);
  return run.run(
      [&](const OnnxNode& node, const onnx::ValuesById& values) { return runNode(node, values, path); });
}

Status Interpreter::checkInputs(const std::vector<TensorValue>& inputs) const {
  const OnnxGraph& graph = model_->graph;
  if (inputs.size() != graph.inputs.size()) {
    return badInput(fmt::format("{} takes {} inputs, but {} are given.", model_->file, graph.inputs.size(),
                                inputs.size()));
  }
  std::map<std::string, std::int64_t> bound;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const onnx::ModelValue& declared = graph.value(graph.inputs[i]);
    const graph::TensorType& type = inputs[i].type;
    const auto refuse = [&](const std::string& why) {
      return badInput(fmt::format("{}: input {} ({}) is {}, but {}.", model_->file, i, declared.name,
                                  graph::toString(type), why));
    };
    if (declared.element && *declared.element != type.element)
      return refuse("the model takes " + graph::toString(*declared.element));
    if (!declared.shape) continue;
    if (declared.shape->size() != type.shape.size())
      return refuse(fmt::format("the model takes {} axes", declared.shape->size()));
    for (std::size_t axis = 0; axis < type.shape.size(); ++axis) {
      const onnx::Dimension& dimension = (*declared.shape)[axis];
      std::optional<std::int64_t> wanted = dimension.extent;
      if (!wanted && !dimension.symbol.empty())
        wanted = bound.emplace(dimension.symbol, type.shape[axis]).first->second;
      if (wanted && *wanted != type.shape[axis])
        return refuse(fmt::format("the model takes the extent {} at axis {}", *wanted, axis));
    }
  }
  return {};
}

Result<std::vector<TensorValue>> Interpreter::run(const std::vector<TensorValue>& inputs) {
  PIPESCOPE_TRY(checkInputs(inputs));
  steps_ = 0;
  Values given;
  for (const TensorValue& input : inputs)
    given.push_back(counted(std::make_shared<const TensorValue>(input)));
  PIPESCOPE_ASSIGN(const Values outputs, runGraph(model_->graph, std::move(given), {}, ""));
  std::vector<TensorValue> results;
  for (const auto& output : outputs) {
    PIPESCOPE_CHECK(output != nullptr, "an output has no value");
    results.push_back(*output);
  }
  return results;
}

}  // namespace pipescope::numerics
