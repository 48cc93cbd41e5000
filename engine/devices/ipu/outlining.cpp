#include "engine/devices/ipu/outlining.h"

#include <algorithm>
#include <set>

#include "engine/compile/tensor_uses.h"
#include "engine/devices/core/program_order.h"
#include "engine/devices/ipu/step_code.h"

namespace pipescope::devices::ipu {
namespace {

using compile::PassPlan;
using compile::PlanCall;
using compile::PlanOperator;
using compile::PlanTensorId;
using compile::StagePlan;

/// The memory that a call reads from outside and hands out, in the order of first use. The calls of a
/// function differ only in their tensors.
struct Arguments {
  std::vector<std::int64_t> read, made;  ///< roots of tensors (TensorUses)
};

struct Candidate {
  const StagePlan* stage;
  const PassPlan* pass;
  PlanCall call;
  Arguments arguments;
};

std::int64_t positionOf(const StagePlan& stage, const PassPlan& wanted) {
  std::int64_t position = 0;
  for (const PassPlan& pass : stage.passes) {
    if (&pass == &wanted) break;
    position += static_cast<std::int64_t>(pass.operators.size());
  }
  return position;
}

class ArgumentFinder {
 public:
  ArgumentFinder(const StagePlan& stage, const compile::TensorUses& uses) : stage_(stage), uses_(uses) {}

  Arguments find(const PassPlan& pass, const PlanCall& call) const {
    const std::int64_t last =
        positionOf(stage_, pass) + static_cast<std::int64_t>(call.first + call.count) - 1;
    Arguments arguments;
    std::set<std::int64_t> own, outer;
    for (std::size_t i = call.first; i < call.first + call.count; ++i) {
      const PlanOperator& op = pass.operators[i];
      for (const PlanTensorId id : op.inputs) {
        const std::int64_t root = uses_.root(id).value;
        if (root >= 0 && !own.contains(root) && outer.insert(root).second) arguments.read.push_back(root);
      }
      for (const PlanTensorId id : op.outputs) {
        const std::int64_t root = uses_.root(id).value;
        if (root < 0) continue;
        const std::int64_t read = uses_.lastRead(id);
        const bool leaves = outer.contains(root) || read > last || read < 0;
        if (own.insert(root).second && leaves && !op.work.empty()) arguments.made.push_back(root);
      }
    }
    return arguments;
  }

 private:
  const StagePlan& stage_;
  const compile::TensorUses& uses_;
};

/// Argument k needs no copy if all calls use the same tensor for it.
bool isShared(const std::vector<Candidate>& calls, std::vector<std::int64_t> Arguments::*list,
              std::size_t k) {
  return std::ranges::all_of(calls, [&](const Candidate& each) {
    return each.stage == calls.front().stage && k < (each.arguments.*list).size() &&
           (each.arguments.*list)[k] == (calls.front().arguments.*list)[k];
  });
}

std::int64_t copiedBytes(const std::vector<Candidate>& calls, std::vector<std::int64_t> Arguments::*list) {
  std::int64_t bytes = 0;
  const Candidate& first = calls.front();
  for (std::size_t k = 0; k < (first.arguments.*list).size(); ++k) {
    const compile::PlanTensor& tensor =
        first.stage->tensors.items()[static_cast<std::size_t>((first.arguments.*list)[k])];
    if (!tensor.remote && !isShared(calls, list, k)) bytes += tensor.type.bytes().count * tensor.copies;
  }
  return bytes;
}

/// Bytes of one copy of the function's code on all tiles.
base::Result<std::int64_t> functionCodeBytes(const Candidate& call, LoweringContext context) {
  std::int64_t bytes = 0;
  for (std::size_t i = call.call.first; i < call.call.first + call.call.count; ++i) {
    const PlanOperator& op = call.pass->operators[i];
    context.what = op.name + " (" + op.kind + ")";
    for (const ops::Work& work : op.work) {
      PIPESCOPE_ASSIGN(const LoweredWork lowered, lowerWork(work.item, context));
      for (const ProgramStep& step : lowered.steps) bytes += copyOfStepBytes(step, context.chip);
    }
  }
  return bytes;
}

}  // namespace

base::Result<Outlining> Outlining::choose(const std::vector<const StagePlan*>& stages,
                                          const LoweringContext& context) {
  std::map<std::string, std::vector<Candidate>> functions;
  std::map<const StagePlan*, compile::TensorUses> uses;
  for (const OrderedPass& ordered : programOrder(stages)) {
    for (const PlanCall& call : ordered.pass->calls) {
      const auto found =
          uses.try_emplace(ordered.stage, *ordered.stage, std::vector<compile::BoundaryTensor>()).first;
      const ArgumentFinder finder(*ordered.stage, found->second);
      functions[call.function].push_back(
          {ordered.stage, ordered.pass, call, finder.find(*ordered.pass, call)});
    }
  }
  Outlining result;
  for (const auto& [name, calls] : functions) {
    if (calls.size() < 2) continue;
    PIPESCOPE_ASSIGN(const std::int64_t code, functionCodeBytes(calls.front(), context));
    const std::int64_t in = copiedBytes(calls, &Arguments::read), out = copiedBytes(calls, &Arguments::made);
    const auto others = static_cast<std::int64_t>(calls.size()) - 1;
    if (others * code <= in + out) continue;
    for (const Candidate& each : calls) {
      result.byPass_[each.pass].push_back(
          {name, each.call.name, each.call.first, each.call.count, &each == &calls.front(), in, out});
    }
    result.calls_ += others + 1;
    result.saved_ += Bytes(others * code - in - out);
  }
  for (auto& [pass, calls] : result.byPass_) std::ranges::sort(calls, {}, &OutlinedCall::first);
  return result;
}

const OutlinedCall* Outlining::callAt(const PassPlan& pass, std::size_t op) const {
  const auto calls = byPass_.find(&pass);
  if (calls == byPass_.end()) return nullptr;
  for (const OutlinedCall& call : calls->second) {
    if (op >= call.first && op < call.first + call.count) return &call;
  }
  return nullptr;
}

std::vector<LoweredCall> Outlining::callsOf(const PassPlan& pass) const {
  std::vector<LoweredCall> calls;
  if (const auto found = byPass_.find(&pass); found != byPass_.end()) {
    for (const OutlinedCall& call : found->second)
      calls.push_back({call.function, call.name, static_cast<int>(call.first), static_cast<int>(call.count)});
  }
  return calls;
}

}  // namespace pipescope::devices::ipu
