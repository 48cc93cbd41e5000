// Makes one operator of the convolutions of a group (multi_conv.h), so that a device runs them side by side.
// As in PopART (willow/src/op/multiconv.cpp), their gradients by the inputs are another such operator, and
// those by the weights a third. Biases stay operators of their own, so that an activation can still join
// them.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "engine/compile/passes/pass.h"

namespace pipescope::compile {
namespace {

bool isProduct(const ops::Work& work) {
  return std::holds_alternative<ops::Contraction>(work.item);
}

/// Copies to the host and to streaming memory, and collectives, keep their order.
bool keepsItsPlace(const IrOperator& op) {
  return std::ranges::any_of(op.work, [](const ops::Work& work) {
    return std::holds_alternative<ops::HostCopy>(work.item) ||
           std::holds_alternative<ops::Collective>(work.item);
  });
}

bool sharesTensor(const std::vector<IrTensorId>& a, const std::vector<IrTensorId>& b) {
  return std::ranges::any_of(
      a, [&](IrTensorId id) { return id.valid() && std::ranges::find(b, id) != b.end(); });
}

/// True if `later` must stay behind `earlier`, because one of them writes what the other one uses or because
/// both keep their places.
bool staysBehind(const IrOperator& later, const IrOperator& earlier) {
  return sharesTensor(later.inputs, earlier.outputs) || sharesTensor(later.outputs, earlier.outputs) ||
         sharesTensor(later.outputs, earlier.inputs) || (keepsItsPlace(later) && keepsItsPlace(earlier));
}

class PassJoiner {
 public:
  PassJoiner(StageIr& stage, PassIr& pass, PassEffect& effect)
      : stage_(stage), pass_(pass), effect_(effect) {}

  void run() {
    std::set<Kind> kinds;
    for (const IrOperator& op : pass_.operators) {
      if (!op.group.empty()) kinds.insert(kindOf(op));
    }
    for (const Kind& kind : kinds) join(kind);
  }

 private:
  /// Operators of a group that do the same: forward, forward again, or the gradient by one operand.
  using Kind = std::tuple<std::string, std::string, bool>;
  static Kind kindOf(const IrOperator& op) { return {op.group, op.kind, op.again}; }

  void join(const Kind& kind) {
    std::vector<IrOperator>& all = pass_.operators;
    std::vector<std::size_t> members;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (kindOf(all[i]) == kind) members.push_back(i);
    }
    if (members.size() < 2) return;
    // Operators that depend on a member come behind the joint operator, and all others between the members
    // before it.
    std::vector<std::size_t> behind{members.front()}, before, after;
    for (std::size_t i = members.front() + 1; i <= members.back(); ++i) {
      const bool isMember = std::ranges::binary_search(members, i);
      const bool depends =
          std::ranges::any_of(behind, [&](std::size_t earlier) { return staysBehind(all[i], all[earlier]); });
      if (isMember && depends) return;
      if (isMember || depends) behind.push_back(i);
      if (!isMember) (depends ? after : before).push_back(i);
    }
    std::vector<IrOperator> ordered(std::make_move_iterator(all.begin()),
                                    std::make_move_iterator(at(members.front())));
    const auto take = [&](std::size_t i) { ordered.push_back(std::move(all[i])); };
    std::ranges::for_each(before, take);
    addJoint(members, ordered);
    std::ranges::for_each(after, take);
    std::move(at(members.back() + 1), all.end(), std::back_inserter(ordered));
    all = std::move(ordered);
  }

  std::vector<IrOperator>::iterator at(std::size_t i) {
    return pass_.operators.begin() + static_cast<std::ptrdiff_t>(i);
  }

  /// Adds the joint operator, and behind it what else the members do.
  void addJoint(const std::vector<std::size_t>& members, std::vector<IrOperator>& ordered) {
    const IrOperator& first = pass_.operators[members.front()];
    IrOperator joint;
    joint.name = nameOf(first);
    joint.kind = "Multi" + first.kind;
    joint.block = first.block;
    joint.again = first.again;
    std::vector<IrOperator> rest;
    for (const std::size_t i : members) {
      IrOperator& member = pass_.operators[i];
      effect_.removed[stage_.index].push_back(withoutTensors(member));
      const auto others = std::ranges::find_if_not(member.work, isProduct);
      for (auto work = member.work.begin(); work != others; ++work) {
        joint.work.push_back(*work);
        joint.work.back().concurrent = 1;
      }
      for (const IrTensorId input : productInputs(member)) {
        if (std::ranges::find(joint.inputs, input) == joint.inputs.end()) joint.inputs.push_back(input);
      }
      joint.outputs.push_back(member.outputs.front());
      if (others != member.work.end()) rest.push_back(takeRest(member, joint.outputs.back()));
    }
    effect_.changes += static_cast<std::int64_t>(members.size());
    effect_.added[stage_.index].push_back(withoutTensors(joint));
    for (const IrOperator& op : rest) effect_.added[stage_.index].push_back(withoutTensors(op));
    ordered.push_back(std::move(joint));
    std::ranges::move(rest, std::back_inserter(ordered));
  }

  /// Copy of the operator for the time that the pass saves, which counts Work alone.
  static IrOperator withoutTensors(IrOperator op) {
    op.inputs.clear();
    op.outputs.clear();
    return op;
  }

  /// "octave/multi_conv", "octave/multi_conv/grad_input" …
  static std::string nameOf(const IrOperator& first) {
    const bool gradient = first.kind.find("Grad") != std::string::npos;
    return first.group + (gradient ? first.name.substr(first.name.rfind('/')) : "");
  }

  static std::vector<IrTensorId> productInputs(const IrOperator& member) {
    std::vector<IrTensorId> inputs = member.inputs;
    if (!std::ranges::all_of(member.work, isProduct)) inputs.resize(std::min<std::size_t>(inputs.size(), 2));
    return inputs;
  }

  /// The steps of a member behind its product. They get its product in a tensor of its own.
  IrOperator takeRest(IrOperator& member, IrTensorId& product) {
    IrTensor tensor = stage_.tensors[member.outputs.front()];
    tensor.name += "/product";
    stage_.tensors.push_back(std::move(tensor));
    product = IrTensorId(static_cast<std::int64_t>(stage_.tensors.size()) - 1);
    std::vector<IrTensorId> inputs{product};
    inputs.insert(inputs.end(), member.inputs.begin() + 2, member.inputs.end());
    member.inputs = std::move(inputs);
    std::erase_if(member.work, isProduct);
    member.kind += "Bias";
    member.group.clear();
    return member;
  }

  StageIr& stage_;
  PassIr& pass_;
  PassEffect& effect_;
};

PassEffect joinConvolutions(ExecutableIr& ir) {
  PassEffect effect;
  effect.counts = "convolutions that run beside others";
  if (!ir.runsSideBySide) return effect;
  for (StageIr& stage : ir.stages) {
    for (PassIr& pass : stage.passes) PassJoiner(stage, pass, effect).run();
  }
  return effect;
}

}  // namespace

PIPESCOPE_REGISTER_PASS(join_convolutions) {
  registry.add(
      {"join_convolutions",
       "The convolutions of a group in [[model.multi_convs]] become one operator, which runs them side "
       "by side. Otherwise they run one after another.",
       22, nullptr, joinConvolutions});
}

}  // namespace pipescope::compile
