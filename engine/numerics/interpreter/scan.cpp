#include <fmt/format.h>

#include <algorithm>

#include "engine/numerics/interpreter/control_flow.h"
#include "engine/numerics/interpreter/slice_collector.h"
#include "engine/onnx/scan_lists.h"

namespace pipescope::numerics {

using base::badInput;
using base::Result;
using base::Status;
using onnx::Values;

namespace {

/// The checked attributes of a Scan.
struct ScanSetup {
  std::size_t states = 0, scanInputs = 0, scanOutputs = 0;
  std::size_t length = 0;  ///< iterations
  std::vector<std::size_t> inputAxes;
  std::vector<bool> inputReversed;
  std::vector<SliceCollector::Join> outputs;
};

Status planInputAxes(const ControlFlowCall& call, ScanSetup& setup) {
  PIPESCOPE_ASSIGN(const std::vector<std::int64_t> axes,
                   onnx::scanList(call.node, "scan_input_axes", setup.scanInputs));
  for (std::size_t i = 0; i < setup.scanInputs; ++i) {
    const graph::TensorType& type = call.inputs[setup.states + i]->type;
    const auto rank = static_cast<std::int64_t>(type.shape.size());
    if (axes[i] < -rank || axes[i] >= rank)
      return badInput(fmt::format("{}: scan input {} is {} and has no axis {}.", call.title(), i,
                                  graph::toString(type), axes[i]));
    setup.inputAxes.push_back(static_cast<std::size_t>(axes[i] < 0 ? axes[i] + rank : axes[i]));
    const auto extent = static_cast<std::size_t>(type.shape[setup.inputAxes.back()]);
    if (i > 0 && extent != setup.length)
      return badInput(fmt::format("{}: its scan inputs have {} and {} steps; they must have the same number.",
                                  call.title(), setup.length, extent));
    setup.length = extent;
  }
  return {};
}

Result<ScanSetup> planScan(const ControlFlowCall& call) {
  const onnx::OnnxNode& node = call.node;
  const Values& inputs = call.inputs;
  ScanSetup setup;
  const auto found = node.attributes.find("num_scan_inputs");
  const auto* count = found == node.attributes.end() ? nullptr : std::get_if<std::int64_t>(&found->second);
  if (!count || *count < 1 || static_cast<std::size_t>(*count) > inputs.size())
    return badInput(
        fmt::format("{}: num_scan_inputs must be given and lie in 1 … {}.", call.title(), inputs.size()));
  if (std::ranges::count(inputs, nullptr) > 0) return badInput(call.title() + ": an input is left out.");
  setup.scanInputs = static_cast<std::size_t>(*count);
  setup.states = inputs.size() - setup.scanInputs;
  if (node.outputs.size() < setup.states)
    return badInput(call.title() + " has fewer outputs than carried values.");
  setup.scanOutputs = node.outputs.size() - setup.states;
  PIPESCOPE_TRY(planInputAxes(call, setup));
  PIPESCOPE_ASSIGN(setup.inputReversed,
                   onnx::scanDirections(node, "scan_input_directions", setup.scanInputs));
  PIPESCOPE_ASSIGN(const std::vector<bool> reversed,
                   onnx::scanDirections(node, "scan_output_directions", setup.scanOutputs));
  PIPESCOPE_ASSIGN(const std::vector<std::int64_t> axes,
                   onnx::scanList(node, "scan_output_axes", setup.scanOutputs));
  for (std::size_t i = 0; i < setup.scanOutputs; ++i) setup.outputs.push_back({axes[i], reversed[i]});
  return setup;
}

}  // namespace

Result<Values> runScan(const ControlFlowCall& call, GraphRunner& runner) {
  PIPESCOPE_ASSIGN(const ScanSetup setup, planScan(call));
  PIPESCOPE_ASSIGN(const Body body, bodyOf(call, "body", call.inputs.size(), call.node.outputs.size()));
  const auto states = static_cast<std::ptrdiff_t>(setup.states);
  Values state(call.inputs.begin(), call.inputs.begin() + states);
  std::vector<SliceCollector> collected(setup.scanOutputs);
  for (std::size_t step = 0; step < setup.length; ++step) {
    Values given = state;
    for (std::size_t i = 0; i < setup.scanInputs; ++i) {
      const std::size_t at = setup.inputReversed[i] ? setup.length - 1 - step : step;
      given.push_back(sliceAt(*call.inputs[setup.states + i], setup.inputAxes[i], at));
    }
    PIPESCOPE_ASSIGN(Values made, runner.runGraph(*body.graph, std::move(given), body.captured,
                                                  fmt::format("{}{}/{}/", call.path, call.node.name, step)));
    state.assign(made.begin(), made.begin() + states);
    for (std::size_t s = 0; s < setup.scanOutputs; ++s)
      PIPESCOPE_TRY(collected[s].add(call, made[setup.states + s]));
  }
  for (std::size_t s = 0; s < setup.scanOutputs; ++s) {
    const onnx::ModelValue& declared = body.graph->value(body.graph->outputs[setup.states + s]);
    PIPESCOPE_ASSIGN(ValuePointer joined, collected[s].join(call, declared, setup.outputs[s], runner));
    state.push_back(std::move(joined));
  }
  return state;
}

}  // namespace pipescope::numerics
