#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "engine/numerics/interpreter/control_flow.h"
#include "engine/numerics/interpreter/slice_collector.h"

namespace pipescope::numerics {

using base::badInput;
using base::Result;
using graph::ElementType;
using onnx::Values;

namespace {

template <class T>
ValuePointer scalar(ElementType element, T value) {
  auto made = std::make_shared<graph::TensorValue>();
  made->type = {element, {}};
  made->bytes.resize(sizeof value);
  std::memcpy(made->bytes.data(), &value, sizeof value);
  return made;
}

/// The trip count; without one the condition alone ends the loop.
Result<std::int64_t> tripsOf(const ControlFlowCall& call) {
  std::int64_t trips = std::numeric_limits<std::int64_t>::max();
  if (call.inputs.empty() || !call.inputs[0]) return trips;
  const graph::TensorValue& given = *call.inputs[0];
  if (given.type.element != ElementType::int64 || given.bytes.size() != sizeof trips)
    return badInput(call.title() + ": its trip count must be one int64.");
  std::memcpy(&trips, given.bytes.data(), sizeof trips);
  return trips;
}

}  // namespace

Result<Values> runLoop(const ControlFlowCall& call, GraphRunner& runner) {
  // Inputs: trip count, condition, carried values. The body takes the iteration, the condition and the
  // carried values; it returns the next condition, the carried values and one slice for each scan output.
  const Values& inputs = call.inputs;
  const std::size_t carried = inputs.size() < 2 ? 0 : inputs.size() - 2;
  if (call.node.outputs.size() < carried)
    return badInput(call.title() + " has fewer outputs than carried values.");
  const std::size_t scans = call.node.outputs.size() - carried;
  PIPESCOPE_ASSIGN(const Body body, bodyOf(call, "body", carried + 2, 1 + carried + scans));
  PIPESCOPE_ASSIGN(const std::int64_t trips, tripsOf(call));
  bool more = true;
  if (inputs.size() > 1 && inputs[1]) {
    PIPESCOPE_ASSIGN(more, truthOf(call, inputs[1], "its condition"));
  }
  Values state(inputs.end() - static_cast<std::ptrdiff_t>(carried), inputs.end());
  if (std::ranges::count(state, nullptr) > 0)
    return badInput(call.title() + ": a carried value is left out.");
  std::vector<SliceCollector> collected(scans);
  for (std::int64_t i = 0; i < trips && more; ++i) {
    // A body without nodes counts nothing itself.
    PIPESCOPE_TRY(runner.countStep(call.node));
    Values given{scalar(ElementType::int64, i), scalar(ElementType::boolean, std::uint8_t{1})};
    given.insert(given.end(), state.begin(), state.end());
    PIPESCOPE_ASSIGN(Values made, runner.runGraph(*body.graph, std::move(given), body.captured,
                                                  fmt::format("{}{}/{}/", call.path, call.node.name, i)));
    PIPESCOPE_ASSIGN(more, truthOf(call, made[0], "the condition that its graph gives"));
    state.assign(made.begin() + 1, made.begin() + 1 + static_cast<std::ptrdiff_t>(carried));
    for (std::size_t s = 0; s < scans; ++s) PIPESCOPE_TRY(collected[s].add(call, made[1 + carried + s]));
  }
  for (std::size_t s = 0; s < scans; ++s) {
    const onnx::ModelValue& declared = body.graph->value(body.graph->outputs[1 + carried + s]);
    PIPESCOPE_ASSIGN(ValuePointer joined, collected[s].join(call, declared, {}, runner));
    state.push_back(std::move(joined));
  }
  return state;
}

}  // namespace pipescope::numerics
