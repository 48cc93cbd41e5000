#include "engine/devices/ipu/code/outlining.h"

#include <algorithm>

#include "engine/devices/core/program_order.h"
#include "engine/devices/core/tensor_lives.h"
#include "engine/devices/ipu/code/call_arguments.h"
#include "engine/devices/ipu/code/exchange_code.h"
#include "engine/devices/ipu/code/step_code.h"

namespace pipescope::devices::ipu {
namespace {

using compile::IrCall;
using compile::IrOperator;
using compile::IrTensorId;
using compile::PassIr;
using compile::StageIr;

/// A proposed call with its arguments.
struct Candidate {
  const StageIr* stage;
  const PassIr* pass;
  const IrCall* call;
  std::size_t position;  ///< position of its first operator in the device's program
  std::vector<CallArgument> arguments;
  /// The inputs and outputs of its operators, each as the tensor whose memory it uses. All calls of a
  /// function have as many.
  std::vector<IrTensorId> operands;
};

std::vector<IrTensorId> operandsOf(const compile::TensorUses& uses, const PassIr& pass, const IrCall& call) {
  std::vector<IrTensorId> operands;
  for (std::size_t i = 0; i < call.count; ++i) {
    for (const auto* list :
         {&pass.operators[call.first + i].inputs, &pass.operators[call.first + i].outputs}) {
      for (const IrTensorId id : *list) operands.push_back(uses.root(id));
    }
  }
  return operands;
}

struct OperatorBytes {
  std::int64_t code = 0;       ///< code of one copy, on all tiles
  std::int64_t temporary = 0;  ///< the most that lives at once while the operator runs, on all tiles
  std::int64_t live = 0;       ///< tensors that live while it runs and are not always live
};

/// Bytes of temporaries at the step at which most of them live.
std::int64_t mostTemporaries(const LoweredWork& work) {
  std::vector<std::int64_t> change(work.steps.size() + 1);
  for (const Temporary& temporary : work.temporaries) {
    const std::int64_t bytes = spreadOf(temporary.bytes).total;
    change[std::min(temporary.first, work.steps.size())] += bytes;
    change[std::min(temporary.end, work.steps.size())] -= bytes;
  }
  std::int64_t live = 0, most = 0;
  for (const std::int64_t each : change) most = std::max(most, live += each);
  return most;
}

/// The operators of a device in program order, and where the passes begin.
struct DeviceProgram {
  std::vector<OperatorBytes> operators;
  std::map<const PassIr*, std::size_t> begin;
  std::int64_t peak = 0;

  /// The most that lives at once during an operator, if `held` and one of the two copies come on top.
  std::int64_t need(std::size_t op, std::int64_t held, const OutlinedCall::Copies& copies) const {
    return operators[op].live + held + std::max({operators[op].temporary, copies.moved, copies.out});
  }
};

void addLives(DeviceProgram& program, const std::vector<OrderedPass>& order) {
  std::map<const StageIr*, TensorLives> lives;
  for (const OrderedPass& each : order) {
    TensorLives& own = lives.try_emplace(each.stage, *each.stage).first->second;
    auto at = static_cast<std::int32_t>(program.begin.at(each.pass));
    own.enterPass(each.pass->pass, at);
    for (const IrOperator& op : each.pass->operators) {
      own.operatorAt(op, at, at + 1);
      ++at;
    }
    own.leavePass(at);
  }
  std::vector<std::int64_t> change(program.operators.size() + 1);
  for (const auto& [stage, own] : lives) {
    for (std::size_t i = 0; i < stage->tensors.size(); ++i) {
      const compile::IrTensor& tensor = stage->tensors.items()[i];
      if (tensor.remote || tensor.shared) continue;
      for (const LifeSteps life : own.of(i)) {
        change[static_cast<std::size_t>(life.first)] += tensor.type.bytes().count * tensor.copies;
        change[static_cast<std::size_t>(life.end)] -= tensor.type.bytes().count * tensor.copies;
      }
    }
  }
  std::int64_t live = 0;
  for (std::size_t i = 0; i < program.operators.size(); ++i) {
    program.operators[i].live = live += change[i];
    program.peak = std::max(program.peak, program.need(i, 0, {}));
  }
}

base::Result<DeviceProgram> measure(const std::vector<OrderedPass>& order, IpuLoweringContext context) {
  DeviceProgram program;
  for (const OrderedPass& each : order) {
    program.begin[each.pass] = program.operators.size();
    for (const IrOperator& op : each.pass->operators) {
      OperatorBytes& bytes = program.operators.emplace_back();
      context.what = op.name + " (" + op.kind + ")";
      const bool kept = readsKeptTensors(*each.stage, op);
      for (const ops::Work& work : op.work) {
        if (const auto* product = std::get_if<ops::Contraction>(&work.item))
          context.operands = operandPlacesOf(*each.stage, op, *product);
        PIPESCOPE_ASSIGN(const LoweredWork lowered, lowerWork(work.item, context));
        for (const ProgramStep& step : lowered.steps)
          bytes.code += copyOfStepBytes(step, context.chip, ownShareOf(step, kept));
        bytes.temporary = std::max(bytes.temporary, mostTemporaries(lowered));
      }
    }
  }
  addLives(program, order);
  return program;
}

/// An argument needs no copy if all calls use the same tensor wherever this call does. A layer and its
/// recomputed forward pass read the same weights.
bool isShared(const std::vector<Candidate>& calls, const Candidate& own, IrTensorId root) {
  for (std::size_t k = 0; k < own.operands.size(); ++k) {
    if (own.operands[k] != root) continue;
    const bool same = std::ranges::all_of(calls, [&](const Candidate& each) {
      return each.stage == own.stage && each.operands.size() == own.operands.size() &&
             each.operands[k] == root;
    });
    if (!same) return false;
  }
  return true;
}

OutlinedCall outlinedCall(const std::vector<Candidate>& calls, std::size_t index) {
  const Candidate& own = calls[index];
  OutlinedCall call{own.call->function, own.call->name, own.call->first, own.call->count, index == 0, {}, {}};
  call.copies.resize(call.count);
  for (const CallArgument& argument : own.arguments) {
    if (isShared(calls, own, argument.root)) continue;
    const bool read = argument.firstRead != CallArgument::kNever,
               made = argument.lastMade != CallArgument::kNever;
    if (read) {
      OutlinedCall::Copies& copies = call.copies[argument.firstRead];
      copies.in += argument.bytes;
      if (argument.needed) {
        call.held.push_back({argument.firstRead,
                             made ? std::max(argument.lastRead, argument.lastMade) : argument.lastRead,
                             argument.bytes});
      } else {
        copies.moved += argument.bytes;
      }
    }
    if (made && argument.needed) call.copies[argument.lastMade].out += argument.bytes;
  }
  return call;
}

/// Code of the copies of one call on all tiles.
base::Result<std::int64_t> codeOfCopies(const OutlinedCall& call, const IpuLoweringContext& context) {
  std::int64_t bytes = 0;
  for (const OutlinedCall::Copies& copies : call.copies) {
    for (const std::int64_t each : {copies.in, copies.out}) {
      if (each == 0) continue;
      PIPESCOPE_ASSIGN(const LoweredWork copy,
                       lowerWork(ops::Rearrange{each, each, graph::ElementType::uint8}, context));
      for (const ProgramStep& step : copy.steps)
        bytes += copyOfStepBytes(step, context.chip, ownShareOf(step, false));
    }
  }
  return bytes;
}

/// The peak if the call is outlined.
std::int64_t peakWith(const OutlinedCall& call, std::size_t position, const DeviceProgram& program) {
  std::vector<std::int64_t> held(call.count);
  for (const OutlinedCall::Held& each : call.held) {
    for (std::size_t i = each.first; i <= each.last; ++i) held[i] += each.bytes;
  }
  std::int64_t most = program.peak;
  for (std::size_t i = 0; i < call.count; ++i)
    most = std::max(most, program.need(position + i, held[i], call.copies[i]));
  return most;
}

}  // namespace

base::Result<Outlining> Outlining::choose(const std::vector<const StageIr*>& stages,
                                          const IpuLoweringContext& context) {
  const std::vector<OrderedPass> order = programOrder(stages);
  Outlining result;
  if (std::ranges::all_of(order, [](const OrderedPass& each) { return each.pass->calls.empty(); }))
    return result;
  PIPESCOPE_ASSIGN(DeviceProgram program, measure(order, context));
  std::map<std::string, std::vector<Candidate>> functions;
  std::map<const StageIr*, compile::TensorUses> uses;
  for (const OrderedPass& each : order) {
    for (const IrCall& call : each.pass->calls) {
      const auto found =
          uses.try_emplace(each.stage, *each.stage, std::vector<compile::BoundaryTensor>()).first;
      functions[call.function].push_back({each.stage, each.pass, &call,
                                          program.begin.at(each.pass) + call.first,
                                          argumentsOf(*each.stage, found->second, *each.pass, call),
                                          operandsOf(found->second, *each.pass, call)});
    }
  }
  for (const auto& [name, calls] : functions) {
    if (calls.size() < 2) continue;
    std::int64_t code = 0, copies = 0, peak = program.peak;
    for (std::size_t i = 0; i < calls.front().call->count; ++i)
      code += program.operators[calls.front().position + i].code;
    std::vector<OutlinedCall> outlined;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      outlined.push_back(outlinedCall(calls, i));
      PIPESCOPE_ASSIGN(const std::int64_t own, codeOfCopies(outlined.back(), context));
      copies += own;
      peak = std::max(peak, peakWith(outlined.back(), calls[i].position, program));
    }
    const std::int64_t saved = (static_cast<std::int64_t>(calls.size()) - 1) * code - copies;
    if (saved <= peak - program.peak) continue;
    result.calls_ += static_cast<std::int64_t>(calls.size());
    result.saved_ += Bytes(saved - (peak - program.peak));
    program.peak = peak;
    for (std::size_t i = 0; i < calls.size(); ++i)
      result.byPass_[calls[i].pass].push_back(std::move(outlined[i]));
  }
  for (auto& [pass, calls] : result.byPass_) std::ranges::sort(calls, {}, &OutlinedCall::first);
  return result;
}

const OutlinedCall* Outlining::callAt(const PassIr& pass, std::size_t op) const {
  const auto calls = byPass_.find(&pass);
  if (calls == byPass_.end()) return nullptr;
  const auto after = std::ranges::upper_bound(calls->second, op, {}, &OutlinedCall::first);
  if (after == calls->second.begin()) return nullptr;
  const OutlinedCall& call = *std::prev(after);
  return op < call.first + call.count ? &call : nullptr;
}

std::vector<LoweredCall> Outlining::callsOf(const PassIr& pass) const {
  std::vector<LoweredCall> calls;
  if (const auto found = byPass_.find(&pass); found != byPass_.end()) {
    for (const OutlinedCall& call : found->second)
      calls.push_back({call.function, call.name, static_cast<int>(call.first), static_cast<int>(call.count)});
  }
  return calls;
}

}  // namespace pipescope::devices::ipu
