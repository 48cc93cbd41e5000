// Writes elementwise results over an input that nothing reads afterwards. An operator offers this with
// Map::inPlace of its first Work, or with IrOperator::replaced; this pass withdraws the offer if the inputs
// are still needed.
#include <algorithm>

#include "engine/compile/passes/pass.h"
#include "engine/compile/tensor_uses.h"

namespace pipescope::compile {
namespace {

/// The Map that would write over an input; null if the operator does not offer that.
ops::Map* offer(IrOperator& op) {
  const bool maps = !op.work.empty() && std::ranges::all_of(op.work, [](const ops::Work& work) {
    const auto* map = std::get_if<ops::Map>(&work.item);
    return map && map->inPlace;
  });
  return maps ? &std::get<ops::Map>(op.work.front().item) : nullptr;
}

class StageInPlace {
 public:
  StageInPlace(StageIr& stage, const std::vector<BoundaryTensor>& boundaries)
      : stage_(stage), uses_(stage, boundaries) {}

  /// Visits every operator that offers to work in place. With `on`, the offer stays where an input is not
  /// read afterwards.
  void run(bool on, PassEffect& effect) {
    std::int64_t position = 0;
    for (PassIr& pass : stage_.passes) {
      for (IrOperator& op : pass.operators) {
        if (ops::Map* map = offer(op); map && !updatesItself(op)) {
          map->inPlace = on && takesOver(op, position);
          if (map->inPlace) count(op, effect);
        }
        if (op.replaced.valid() && !(on && isFree(op.replaced, op.outputs[0], position))) op.replaced = {};
        ++position;
      }
    }
  }

 private:
  const graph::TensorType& typeOf(IrTensorId id) const { return stage_.tensors[id].type; }

  /// True for an accumulator or a weight. Its new value always replaces the old one, also with this pass
  /// switched off.
  bool updatesItself(const IrOperator& op) const {
    return std::ranges::any_of(op.outputs, [&](IrTensorId output) {
      return std::ranges::any_of(op.inputs, [&](IrTensorId input) {
        return input.valid() && uses_.root(input) == uses_.root(output);
      });
    });
  }

  bool takesOver(const IrOperator& op, std::int64_t position) const {
    if (std::ranges::count_if(op.outputs, [](IrTensorId id) { return id.valid(); }) != 1 ||
        !op.outputs[0].valid())
      return false;
    return std::ranges::any_of(op.inputs, [&](IrTensorId input) {
      return input.valid() && isPassing(stage_.tensors[uses_.root(input)].use) &&
             isFree(input, op.outputs[0], position);
    });
  }

  /// True if the operator at `position` reads the input last, and its memory has room for just the result.
  bool isFree(IrTensorId input, IrTensorId result, std::int64_t position) const {
    const IrTensor& root = stage_.tensors[uses_.root(input)];
    const bool entry = isPassing(root.use) || root.use == TensorUse::stash;
    return entry && uses_.lastRead(input) == position && root.type.element == typeOf(result).element &&
           root.type.bytes() == typeOf(result).bytes();
  }

  /// Writing in place can be slower than writing elsewhere, so the saved time may be negative.
  void count(const IrOperator& op, PassEffect& effect) const {
    ++effect.changes;
    effect.bytes += typeOf(op.outputs[0]).bytes();
    IrOperator alone{op.name, op.kind, {op.work.front()}, {}, {}};
    effect.added[stage_.index].push_back(alone);
    std::get<ops::Map>(alone.work.front().item).inPlace = false;
    effect.removed[stage_.index].push_back(std::move(alone));
  }

  StageIr& stage_;
  TensorUses uses_;
};

PassEffect inPlace(ExecutableIr& ir) {
  PassEffect effect;
  effect.counts = "results in the storage of an input";
  for (StageIr& stage : ir.stages) StageInPlace(stage, ir.boundaries).run(true, effect);
  return effect;
}

void withoutInPlace(ExecutableIr& ir) {
  PassEffect none;
  for (StageIr& stage : ir.stages) StageInPlace(stage, ir.boundaries).run(false, none);
}

}  // namespace

PIPESCOPE_REGISTER_PASS(in_place) {
  registry.add({"in_place",
                "Elementwise results take over the storage of an input that is not needed afterwards.", 40,
                nullptr, inPlace, withoutInPlace});
}

}  // namespace pipescope::compile
