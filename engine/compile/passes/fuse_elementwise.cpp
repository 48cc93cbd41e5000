// Joins an operator that ends with an elementwise step and a second elementwise operator that alone reads its
// result: bias and activation, dropout and residual sum, norm and activation. The value between them then
// needs no storage. A device family may compute such a chain in one go (IrOperator::chains); other families
// compute its parts one after another.
#include <algorithm>

#include "engine/compile/passes/pass.h"
#include "engine/compile/tensor_uses.h"

namespace pipescope::compile {
namespace {

const ops::Map* mapOf(const ops::Work& work) {
  const auto* map = std::get_if<ops::Map>(&work.item);
  return map && work.repeat == 1 ? map : nullptr;
}

class StageFusion {
 public:
  StageFusion(StageIr& stage, const std::vector<BoundaryTensor>& boundaries)
      : stage_(stage), uses_(stage, boundaries) {}

  void run(PassEffect& effect) {
    for (PassIr& pass : stage_.passes) {
      std::vector<IrOperator> fused;
      for (IrOperator& op : pass.operators) {
        if (!fused.empty() && follows(fused.back(), op)) {
          effect.bytes += typeOf(fused.back().outputs[0]).bytes();
          append(fused.back(), std::move(op));
        } else {
          fused.push_back(std::move(op));
        }
      }
      pass.operators = std::move(fused);
    }
  }

 private:
  const graph::TensorType& typeOf(IrTensorId id) const { return stage_.tensors[id].type; }

  bool follows(const IrOperator& first, const IrOperator& second) const {
    if (first.work.empty() || second.work.empty() || first.outputs.size() != 1 ||
        second.outputs.size() != 1 || first.block != second.block || first.block.empty() ||
        first.again != second.again)
      return false;
    const IrTensorId between = first.outputs[0];
    if (!between.valid() || uses_.root(between) != between || uses_.reads(between) != 1 ||
        !isPassing(stage_.tensors[between].use))
      return false;
    if (std::ranges::count(second.inputs, between) != 1) return false;
    const ops::Map *last = mapOf(first.work.back()), *next = mapOf(second.work.front());
    const graph::TensorType& type = typeOf(between);
    return last && next && last->elements == type.elements() && next->elements == type.elements() &&
           last->type == type.element && next->type == type.element && typeOf(second.outputs[0]) == type;
  }

  static void append(IrOperator& first, IrOperator second) {
    const std::size_t joint = first.work.size();
    std::size_t begin = joint - 1;
    if (!first.chains.empty() && first.chains.back().first + first.chains.back().count == joint) {
      begin = first.chains.back().first;
      first.chains.pop_back();
    }
    const std::size_t slash = second.name.rfind('/');
    const std::string own = slash == std::string::npos ? second.name : second.name.substr(slash + 1);
    for (ops::Work& work : second.work) {
      work.label = work.label.empty() ? own : own + "/" + work.label;
      first.work.push_back(std::move(work));
    }
    first.chains.push_back({begin, joint + 1 - begin});
    first.kind += "+" + second.kind;
    for (const IrTensorId input : second.inputs) {
      if (input != first.outputs[0]) first.inputs.push_back(input);
    }
    first.outputs = second.outputs;
  }

  StageIr& stage_;
  TensorUses uses_;
};

PassEffect fuseElementwise(ExecutableIr& ir) {
  PassEffect effect;
  effect.counts = "elementwise chains computed as one";
  for (StageIr& stage : ir.stages) StageFusion(stage, ir.boundaries).run(effect);
  return effect;
}

}  // namespace

PIPESCOPE_REGISTER_PASS(fuse_elementwise) {
  registry.add({"fuse_elementwise",
                "Elementwise operators that follow each other within a block become one: bias and "
                "activation, dropout and "
                "residual sum. A device computes the chain in one vertex where that is faster.",
                30, nullptr, fuseElementwise});
}

}  // namespace pipescope::compile
