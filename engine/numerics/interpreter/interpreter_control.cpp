// If, Loop and Scan of the interpreter. Source of the rules: ONNX's Operators.md, opset 16.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "engine/numerics/interpreter/interpreter.h"
#include "engine/onnx/scan_lists.h"

namespace pipescope::numerics {

using base::badInput;
using base::Result;
using base::Status;
using graph::ElementType;
using graph::TensorValue;
using onnx::ModelGraph;
using onnx::ModelNode;
using Values = onnx::Values;
using ValuePointer = std::shared_ptr<const TensorValue>;

namespace {

std::string titleOf(const ModelNode& node) {
  return node.op + " " + node.name;
}

Result<const ModelGraph*> bodyOf(const ModelNode& node, const std::string& name) {
  const auto found = node.bodies.find(name);
  if (found == node.bodies.end())
    return badInput(fmt::format("{}: its graph {} is missing.", titleOf(node), name));
  return found->second.get();
}

Values capturedBy(const ModelGraph& body, const Values& outer) {
  Values captured;
  for (const auto& [from, to] : body.captured)
    captured.push_back(outer[static_cast<std::size_t>(from.value)]);
  return captured;
}

Result<bool> truthOf(const ModelNode& node, const ValuePointer& value, const std::string& what) {
  if (!value || value->type.element != ElementType::boolean || value->bytes.size() != 1)
    return badInput(fmt::format("{}: {} must be one bool.", titleOf(node), what));
  return value->bytes[0] != std::byte{0};
}

template <class T>
ValuePointer scalar(ElementType element, T value) {
  auto made = std::make_shared<TensorValue>();
  made->type = {element, {}};
  made->bytes.resize(sizeof value);
  std::memcpy(made->bytes.data(), &value, sizeof value);
  return made;
}

Status expectCounts(const ModelNode& node, const ModelGraph& body, std::size_t inputs, std::size_t outputs) {
  if (body.inputs.size() == inputs && body.outputs.size() == outputs) return {};
  return badInput(fmt::format("{}: its graph has {} inputs and {} outputs; it must have {} and {}.",
                              titleOf(node), body.inputs.size(), body.outputs.size(), inputs, outputs));
}

/// Bytes of all slices before, at and behind an axis: outer × extent × inner.
struct Slices {
  Slices(const graph::TensorType& type, std::size_t axis) {
    for (std::size_t i = 0; i < type.shape.size(); ++i) {
      if (i < axis) outer *= static_cast<std::size_t>(type.shape[i]);
      if (i > axis) inner *= static_cast<std::size_t>(type.shape[i]);
    }
    extent = static_cast<std::size_t>(type.shape[axis]);
    inner *= static_cast<std::size_t>(graph::sizeOf(type.element));
  }
  std::size_t outer = 1, extent = 1, inner = 1;
};

/// The slice at `index` of an axis, without that axis.
ValuePointer sliceAt(const TensorValue& whole, std::size_t axis, std::size_t index) {
  const Slices slices(whole.type, axis);
  auto part = std::make_shared<TensorValue>();
  part->type = whole.type;
  part->type.shape.erase(part->type.shape.begin() + static_cast<std::ptrdiff_t>(axis));
  part->bytes.resize(slices.outer * slices.inner);
  for (std::size_t o = 0; o < slices.outer && slices.inner > 0; ++o) {
    std::memcpy(part->bytes.data() + o * slices.inner,
                whole.bytes.data() + (o * slices.extent + index) * slices.inner, slices.inner);
  }
  return part;
}

/// Collects the slices of a scan output and joins them along a new axis.
class ScanOutput {
 public:
  Status add(const ModelNode& node, ValuePointer slice) {
    if (!slices_.empty() && slices_.front()->type != slice->type) {
      return badInput(
          fmt::format("{}: a scan output is {} once and {} later; all iterations must give one shape.",
                      titleOf(node), graph::toString(slices_.front()->type), graph::toString(slice->type)));
    }
    slices_.push_back(std::move(slice));
    return {};
  }

  /// `declared`: what the body says of one slice, for the case that there is none.
  Result<ValuePointer> join(const ModelNode& node, const onnx::ModelValue& declared, std::int64_t axis,
                            bool reverse, const onnx::Evaluation& limits) {
    PIPESCOPE_ASSIGN(graph::TensorType type, sliceType(node, declared));
    const auto rank = static_cast<std::int64_t>(type.shape.size()) + 1;
    if (axis < -rank || axis >= rank)
      return badInput(fmt::format("{}: a scan output axis is {}; it must lie in {} … {}.", titleOf(node),
                                  axis, -rank, rank - 1));
    const auto at = static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
    type.shape.insert(type.shape.begin() + static_cast<std::ptrdiff_t>(at),
                      static_cast<std::int64_t>(slices_.size()));
    PIPESCOPE_ASSIGN(const std::int64_t bytes, onnx::checkedBytes(type, titleOf(node) + ": a scan output"));
    if (bytes > limits.maxBytes)
      return badInput(
          fmt::format("{}: a scan output would be {}, more than the {} bytes of memory left to it.",
                      titleOf(node), graph::toString(type), limits.maxBytes));
    if (reverse) std::ranges::reverse(slices_);
    auto joined = std::make_shared<TensorValue>();
    joined->type = type;
    joined->bytes.resize(static_cast<std::size_t>(bytes));
    const Slices slices(type, at);
    for (std::size_t o = 0; o < slices.outer && slices.inner > 0; ++o) {
      for (std::size_t i = 0; i < slices_.size(); ++i) {
        std::memcpy(joined->bytes.data() + (o * slices.extent + i) * slices.inner,
                    slices_[i]->bytes.data() + o * slices.inner, slices.inner);
      }
    }
    return ValuePointer(std::move(joined));
  }

 private:
  Result<graph::TensorType> sliceType(const ModelNode& node, const onnx::ModelValue& declared) const {
    if (!slices_.empty()) return slices_.front()->type;
    if (!declared.element || !declared.shape) {
      return badInput(
          fmt::format("{}: it runs no iteration, and the file does not say of what type the scan output "
                      "{} is.",
                      titleOf(node), declared.name));
    }
    graph::TensorType type{*declared.element, {}};
    for (const onnx::Dimension& dimension : *declared.shape)
      type.shape.push_back(dimension.extent.value_or(0));
    return type;
  }
  std::vector<ValuePointer> slices_;
};

}  // namespace

Result<Values> Interpreter::runIf(const ModelNode& node, const Values& inputs, const Place& place) {
  if (inputs.size() != 1) return badInput(titleOf(node) + " must have one input, its condition.");
  PIPESCOPE_ASSIGN(const bool condition, truthOf(node, inputs[0], "its condition"));
  PIPESCOPE_ASSIGN(const ModelGraph* body, bodyOf(node, condition ? "then_branch" : "else_branch"));
  PIPESCOPE_TRY(expectCounts(node, *body, 0, node.outputs.size()));
  return runGraph(*body, {}, capturedBy(*body, place.outer), place.path + node.name + "/");
}

Result<Values> Interpreter::runLoop(const ModelNode& node, const Values& inputs, const Place& place) {
  PIPESCOPE_ASSIGN(const ModelGraph* body, bodyOf(node, "body"));
  const std::size_t carried = inputs.size() < 2 ? 0 : inputs.size() - 2;
  if (node.outputs.size() < carried)
    return badInput(titleOf(node) + " has fewer outputs than carried values.");
  const std::size_t scans = node.outputs.size() - carried;
  PIPESCOPE_TRY(expectCounts(node, *body, carried + 2, 1 + carried + scans));
  std::int64_t trips = std::numeric_limits<std::int64_t>::max();
  if (!inputs.empty() && inputs[0]) {
    if (inputs[0]->type.element != ElementType::int64 || inputs[0]->bytes.size() != sizeof trips)
      return badInput(titleOf(node) + ": its trip count must be one int64.");
    std::memcpy(&trips, inputs[0]->bytes.data(), sizeof trips);
  }
  bool more = true;
  if (inputs.size() > 1 && inputs[1]) {
    PIPESCOPE_ASSIGN(more, truthOf(node, inputs[1], "its condition"));
  }
  Values state(inputs.begin() + static_cast<std::ptrdiff_t>(inputs.size() - carried), inputs.end());
  if (std::ranges::count(state, nullptr) > 0)
    return badInput(titleOf(node) + ": a carried value is left out.");
  const Values captured = capturedBy(*body, place.outer);
  std::vector<ScanOutput> collected(scans);
  for (std::int64_t i = 0; i < trips && more; ++i) {
    if (++steps_ > options_.maxSteps)
      return badInput(fmt::format("{}: more than {} nodes have run; the loop does not end.", titleOf(node),
                                  options_.maxSteps));
    Values given{scalar(ElementType::int64, i), scalar(ElementType::boolean, std::uint8_t{1})};
    given.insert(given.end(), state.begin(), state.end());
    PIPESCOPE_ASSIGN(Values made, runGraph(*body, std::move(given), captured,
                                           fmt::format("{}{}/{}/", place.path, node.name, i)));
    PIPESCOPE_ASSIGN(more, truthOf(node, made[0], "the condition that its graph gives"));
    state.assign(made.begin() + 1, made.begin() + 1 + static_cast<std::ptrdiff_t>(carried));
    for (std::size_t s = 0; s < scans; ++s) PIPESCOPE_TRY(collected[s].add(node, made[1 + carried + s]));
  }
  for (std::size_t s = 0; s < scans; ++s) {
    const onnx::ModelValue& declared = body->value(body->outputs[1 + carried + s]);
    PIPESCOPE_ASSIGN(ValuePointer joined, collected[s].join(node, declared, 0, false, evaluation()));
    state.push_back(counted(std::move(joined)));
  }
  return state;
}

namespace {

/// Axes and directions of a Scan, checked.
struct ScanPlan {
  std::size_t states = 0, scanInputs = 0, scanOutputs = 0;
  std::vector<std::size_t> inputAxes;
  std::vector<bool> inputReversed, outputReversed;
  std::vector<std::int64_t> outputAxes;
  std::size_t length = 0;
};

Status planAxes(const ModelNode& node, const Values& inputs, ScanPlan& plan) {
  PIPESCOPE_ASSIGN(const std::vector<std::int64_t> axes,
                   onnx::scanList(node, "scan_input_axes", plan.scanInputs));
  for (std::size_t i = 0; i < plan.scanInputs; ++i) {
    const graph::TensorType& type = inputs[plan.states + i]->type;
    const auto rank = static_cast<std::int64_t>(type.shape.size());
    if (axes[i] < -rank || axes[i] >= rank)
      return badInput(fmt::format("{}: scan input {} is {} and has no axis {}.", titleOf(node), i,
                                  graph::toString(type), axes[i]));
    plan.inputAxes.push_back(static_cast<std::size_t>(axes[i] < 0 ? axes[i] + rank : axes[i]));
    const auto extent = static_cast<std::size_t>(type.shape[plan.inputAxes.back()]);
    if (i > 0 && extent != plan.length)
      return badInput(fmt::format("{}: its scan inputs have {} and {} steps; they must have as many.",
                                  titleOf(node), plan.length, extent));
    plan.length = extent;
  }
  return {};
}

Result<ScanPlan> planScan(const ModelNode& node, const Values& inputs) {
  ScanPlan plan;
  const auto found = node.attributes.find("num_scan_inputs");
  const auto* count = found == node.attributes.end() ? nullptr : std::get_if<std::int64_t>(&found->second);
  if (!count || *count < 1 || static_cast<std::size_t>(*count) > inputs.size())
    return badInput(
        fmt::format("{}: num_scan_inputs must be given and lie in 1 … {}.", titleOf(node), inputs.size()));
  if (std::ranges::count(inputs, nullptr) > 0) return badInput(titleOf(node) + ": an input is left out.");
  plan.scanInputs = static_cast<std::size_t>(*count);
  plan.states = inputs.size() - plan.scanInputs;
  if (node.outputs.size() < plan.states)
    return badInput(titleOf(node) + " has fewer outputs than carried values.");
  plan.scanOutputs = node.outputs.size() - plan.states;
  PIPESCOPE_TRY(planAxes(node, inputs, plan));
  PIPESCOPE_ASSIGN(plan.inputReversed, onnx::scanDirections(node, "scan_input_directions", plan.scanInputs));
  PIPESCOPE_ASSIGN(plan.outputReversed,
                   onnx::scanDirections(node, "scan_output_directions", plan.scanOutputs));
  PIPESCOPE_ASSIGN(plan.outputAxes, onnx::scanList(node, "scan_output_axes", plan.scanOutputs));
  return plan;
}

}  // namespace

Result<Values> Interpreter::runScan(const ModelNode& node, const Values& inputs, const Place& place) {
  PIPESCOPE_ASSIGN(const ModelGraph* body, bodyOf(node, "body"));
  PIPESCOPE_ASSIGN(const ScanPlan plan, planScan(node, inputs));
  PIPESCOPE_TRY(expectCounts(node, *body, inputs.size(), node.outputs.size()));
  Values state(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(plan.states));
  const Values captured = capturedBy(*body, place.outer);
  std::vector<ScanOutput> collected(plan.scanOutputs);
  for (std::size_t step = 0; step < plan.length; ++step) {
    Values given = state;
    for (std::size_t i = 0; i < plan.scanInputs; ++i) {
      const std::size_t at = plan.inputReversed[i] ? plan.length - 1 - step : step;
      given.push_back(sliceAt(*inputs[plan.states + i], plan.inputAxes[i], at));
    }
    PIPESCOPE_ASSIGN(Values made, runGraph(*body, std::move(given), captured,
                                           fmt::format("{}{}/{}/", place.path, node.name, step)));
    state.assign(made.begin(), made.begin() + static_cast<std::ptrdiff_t>(plan.states));
    for (std::size_t s = 0; s < plan.scanOutputs; ++s)
      PIPESCOPE_TRY(collected[s].add(node, made[plan.states + s]));
  }
  for (std::size_t s = 0; s < plan.scanOutputs; ++s) {
    const onnx::ModelValue& declared = body->value(body->outputs[plan.states + s]);
    PIPESCOPE_ASSIGN(ValuePointer joined, collected[s].join(node, declared, plan.outputAxes[s],
                                                            plan.outputReversed[s], evaluation()));
    state.push_back(counted(std::move(joined)));
  }
  return state;
}

}  // namespace pipescope::numerics
