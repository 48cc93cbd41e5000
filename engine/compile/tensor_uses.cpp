#include "engine/compile/tensor_uses.h"

#include <algorithm>
#include <map>

namespace pipescope::compile {

bool isPassing(TensorUse use) {
  return !isAlwaysLive(use);
}

TensorUses::TensorUses(const StagePlan& stage, const std::vector<BoundaryTensor>& boundaries)
    : alias_(stage.tensors.size()), lastRead_(stage.tensors.size(), -1), reads_(stage.tensors.size(), 0) {
  for (std::size_t i = 0; i < alias_.size(); ++i) alias_[i] = static_cast<std::int64_t>(i);
  std::map<model::Pass, std::int64_t> endOfPass;
  std::int64_t position = 0;
  for (const PassPlan& pass : stage.passes) {
    for (const PlanOperator& op : pass.operators) {
      const bool view = op.work.empty() && !op.inputs.empty() && !op.outputs.empty() && op.outputs[0].valid();
      if (view && root(op.inputs[0]) >= 0 &&
          alias_[static_cast<std::size_t>(op.outputs[0].value)] == op.outputs[0].value)
        alias_[static_cast<std::size_t>(op.outputs[0].value)] = root(op.inputs[0]);
      if (!view) {
        for (const PlanTensorId input : op.inputs) read(input, position);
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
      if (stage.tensors[i].name == boundary.name)
        read(PlanTensorId(static_cast<std::int64_t>(i)), end->second);
    }
  }
}

std::int64_t TensorUses::root(PlanTensorId tensor) const {
  if (!tensor.valid()) return -1;
  std::int64_t own = tensor.value;
  while (alias_[static_cast<std::size_t>(own)] != own) own = alias_[static_cast<std::size_t>(own)];
  return own;
}

void TensorUses::read(PlanTensorId tensor, std::int64_t position) {
  const std::int64_t own = root(tensor);
  if (own < 0) return;
  auto& last = lastRead_[static_cast<std::size_t>(own)];
  last = std::max(last, position);
  ++reads_[static_cast<std::size_t>(own)];
}

}  // namespace pipescope::compile
