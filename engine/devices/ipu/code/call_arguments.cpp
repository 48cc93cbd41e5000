#include "engine/devices/ipu/code/call_arguments.h"

#include <algorithm>
#include <map>

namespace pipescope::devices::ipu {
namespace {

using compile::IrOperator;
using compile::IrTensorId;
using compile::PassIr;

std::int64_t positionOfPass(const compile::StageIr& stage, const PassIr& wanted) {
  std::int64_t position = 0;
  for (const PassIr& pass : stage.passes) {
    if (&pass == &wanted) break;
    position += static_cast<std::int64_t>(pass.operators.size());
  }
  return position;
}

}  // namespace

std::vector<CallArgument> argumentsOf(const compile::StageIr& stage, const compile::TensorUses& uses,
                                      const PassIr& pass, const compile::IrCall& call) {
  const std::int64_t end = positionOfPass(stage, pass) + static_cast<std::int64_t>(call.first + call.count);
  std::vector<CallArgument> all;
  std::map<IrTensorId, std::size_t> known;
  const auto use = [&](IrTensorId id) -> CallArgument* {
    const IrTensorId root = uses.root(id);
    if (!root.valid()) return nullptr;
    const compile::IrTensor& tensor = stage.tensors[root];
    if (tensor.remote) return nullptr;
    const auto [found, added] = known.try_emplace(root, all.size());
    if (added) {
      const bool needed = isAlwaysLive(tensor.use) || uses.lastRead(id) >= end;
      all.push_back({root, tensor.type.bytes().count * tensor.copies, CallArgument::kNever,
                     CallArgument::kNever, CallArgument::kNever, needed});
    }
    return &all[found->second];
  };
  for (std::size_t i = 0; i < call.count; ++i) {
    const IrOperator& op = pass.operators[call.first + i];
    for (const IrTensorId id : op.inputs) {
      CallArgument* argument = use(id);
      if (!argument) continue;
      if (argument->firstRead == CallArgument::kNever && argument->lastMade == CallArgument::kNever)
        argument->firstRead = i;
      argument->lastRead = i;
    }
    for (const IrTensorId id : op.outputs) {
      CallArgument* argument = use(id);
      if (argument && !op.work.empty()) argument->lastMade = i;
      // Tensors that nobody reads leave the device.
      if (argument && uses.lastRead(id) < 0) argument->needed = true;
    }
  }
  // Tensors that are made and used inside the call only are no arguments.
  std::erase_if(all, [](const CallArgument& each) {
    const bool fromOutside = each.firstRead != CallArgument::kNever;
    return !fromOutside && (!each.needed || each.lastMade == CallArgument::kNever);
  });
  return all;
}

}  // namespace pipescope::devices::ipu
