#include "engine/numerics/interpreter/control_flow.h"

#include <fmt/format.h>

namespace pipescope::numerics {

using base::badInput;
using base::Result;

std::string ControlFlowCall::title() const {
  return node.op + " " + node.name;
}

Result<Body> bodyOf(const ControlFlowCall& call, const std::string& name, std::size_t inputs,
                    std::size_t outputs) {
  const auto found = call.node.bodies.find(name);
  if (found == call.node.bodies.end())
    return badInput(fmt::format("{}: its graph {} is missing.", call.title(), name));
  const onnx::OnnxGraph& graph = *found->second;
  if (graph.inputs.size() != inputs || graph.outputs.size() != outputs) {
    return badInput(fmt::format("{}: its graph has {} inputs and {} outputs; it must have {} and {}.",
                                call.title(), graph.inputs.size(), graph.outputs.size(), inputs, outputs));
  }
  Body body{&graph, {}};
  for (const auto& [outer, inner] : graph.captured) body.captured.push_back(call.outer[outer]);
  return body;
}

Result<bool> truthOf(const ControlFlowCall& call, const ValuePointer& value, const std::string& what) {
  if (!value || value->type.element != graph::ElementType::boolean || value->bytes.size() != 1)
    return badInput(fmt::format("{}: {} must be one bool.", call.title(), what));
  return value->bytes[0] != std::byte{0};
}

}  // namespace pipescope::numerics
