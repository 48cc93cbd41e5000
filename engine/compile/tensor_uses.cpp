#include "engine/compile/tensor_uses.h"

#include <algorithm>
#include <map>

namespace pipescope::compile {

bool isPassing(TensorUse use) {
  return !isAlwaysLive(use);
}

TensorUses::TensorUses(const StageIr& stage, const std::vector<BoundaryTensor>& boundaries)
    : lastRead_(stage.tensors.size(), -1), reads_(stage.tensors.size(), 0) {
  for (std::size_t i = 0; i < stage.tensors.size(); ++i) alias_.push_back(alias_.nextId());
  std::map<model::Pass, std::int64_t> endOfPass;
  std::int64_t position = 0;
  for (const PassIr& pass : stage.passes) {
    for (const IrOperator& op : pass.operators) {
      const bool view = op.work.empty() && !op.inputs.empty() && !op.outputs.empty() && op.outputs[0].valid();
      if (view && root(op.inputs[0]).valid() && alias_[op.outputs[0]] == op.outputs[0])
        alias_[op.outputs[0]] = root(op.inputs[0]);
      if (!view) {
        for (const IrTensorId input : op.inputs) read(input, position);
      }
      ++position;
    }
    endOfPass[pass.pass] = position;
  }
  for (const BoundaryTensor& boundary : boundaries) {
    if (boundary.fromStage != stage.index) continue;
    const bool forward = boundary.kind == model::TransferKind::activation;
    const auto end = endOfPass.find(forward ? model::Pass::forward : model::Pass::backward);
    if (end == endOfPass.end()) continue;
    for (std::size_t i = 0; i < stage.tensors.size(); ++i) {
      const IrTensorId id(static_cast<std::int64_t>(i));
      if (stage.tensors[id].name == boundary.name) read(id, end->second);
    }
  }
}

IrTensorId TensorUses::root(IrTensorId tensor) const {
  while (tensor.valid() && alias_[tensor] != tensor) tensor = alias_[tensor];
  return tensor;
}

void TensorUses::read(IrTensorId tensor, std::int64_t position) {
  const IrTensorId own = root(tensor);
  if (!own.valid()) return;
  lastRead_[own] = std::max(lastRead_[own], position);
  ++reads_[own];
}

}  // namespace pipescope::compile
