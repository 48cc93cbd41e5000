#include "engine/numerics/interpreter/control_flow.h"

namespace pipescope::numerics {

base::Result<onnx::Values> runIf(const ControlFlowCall& call, GraphRunner& runner) {
  if (call.inputs.size() != 1) return base::badInput(call.title() + " must have one input, its condition.");
  PIPESCOPE_ASSIGN(const bool condition, truthOf(call, call.inputs[0], "its condition"));
  PIPESCOPE_ASSIGN(const Body body,
                   bodyOf(call, condition ? "then_branch" : "else_branch", 0, call.node.outputs.size()));
  return runner.runGraph(*body.graph, {}, body.captured, call.path + call.node.name + "/");
}

}  // namespace pipescope::numerics
