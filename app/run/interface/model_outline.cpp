#include "app/run/interface/model_outline.h"

#include "engine/onnx/reader.h"
#include "engine/ops/standard_operators.h"

namespace pipescope::run {

base::Result<ModelOutline> outlineOf(std::span<const std::byte> bytes, const std::string& name) {
  PIPESCOPE_ASSIGN(const onnx::Model model, onnx::parseModel(bytes, {}, name, ops::standardOperators()));
  ModelOutline outline;
  for (const onnx::OnnxNode& node : model.graph.nodes) {
    outline.nodes.push_back({node.op, node.name});
    for (const onnx::ValueId id : node.outputs) {
      if (id.valid()) outline.tensors.push_back(model.graph.value(id).name);
    }
  }
  for (const onnx::ValueId id : model.graph.inputs) outline.inputs.push_back(model.graph.value(id).name);
  for (const onnx::ValueId id : model.graph.outputs) outline.outputs.push_back(model.graph.value(id).name);
  for (const onnx::ValueId id : model.graph.weights) outline.weights.push_back(model.graph.value(id).name);
  return outline;
}

}  // namespace pipescope::run
