#include "engine/devices/hbm_card/framework_memory.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <variant>

namespace pipescope::devices::hbm_card {

using compile::IrOperator;
using compile::IrTensorId;
using compile::PassIr;
using compile::StageIr;
using model::Pass;

namespace {

std::size_t indexOf(IrTensorId id) {
  return static_cast<std::size_t>(id.value);
}

bool isElementwise(const IrOperator& op) {
  return !op.work.empty() && std::ranges::all_of(op.work, [](const ops::Work& work) {
    return std::holds_alternative<ops::Map>(work.item);
  });
}

/// Groups of the first product, each of which has a weight of its own.
std::int64_t groupsOf(const IrOperator& op) {
  for (const ops::Work& work : op.work)
    if (const auto* product = std::get_if<ops::Contraction>(&work.item)) return product->groups;
  return 1;
}

}  // namespace

std::set<std::size_t> computedAgain(const StageIr& stage, const StageUses& uses) {
  // Tensors that the forward pass reads, that backward passes read, and that something other than elementwise
  // kernels reads there.
  std::set<std::size_t> passedOn, read, needed;
  for (const PassIr& pass : stage.passes) {
    if (pass.pass == Pass::hostIn) continue;
    for (const IrOperator& op : pass.operators) {
      if (pass.pass == Pass::forward) {
        for (const IrTensorId id : op.inputs)
          if (id.valid()) passedOn.insert(uses.root(indexOf(id)));
        continue;
      }
      for (const IrTensorId id : op.inputs) {
        if (!id.valid() || uses.isView(op)) continue;
        read.insert(uses.root(indexOf(id)));
        if (!isElementwise(op)) needed.insert(uses.root(indexOf(id)));
      }
      // Tensors that a backward pass makes itself are not kept for it.
      for (const IrTensorId id : op.outputs)
        if (id.valid() && !uses.isView(op)) needed.insert(uses.root(indexOf(id)));
    }
  }
  std::set<std::size_t> again;
  for (const PassIr& pass : stage.passes) {
    if (pass.pass != Pass::forward) continue;
    for (const IrOperator& op : pass.operators) {
      if (!isElementwise(op) || op.outputs.size() != 1 || !op.outputs[0].valid()) continue;
      const std::size_t made = uses.root(indexOf(op.outputs[0]));
      if (made != indexOf(op.outputs[0]) || !passedOn.contains(made) || !read.contains(made) ||
          needed.contains(made))
        continue;
      const bool kept = std::ranges::all_of(op.inputs, [&](IrTensorId id) {
        if (!id.valid()) return true;
        const std::size_t root = uses.root(indexOf(id));
        return read.contains(root) || stage.tensors.items()[root].use == compile::TensorUse::constant;
      });
      if (kept) again.insert(made);
    }
  }
  return again;
}

void StandInGradients::addStage(const StageIr& stage, const StageUses& uses) {
  std::string last;
  bool ends = false;
  for (const PassIr& pass : stage.passes) {
    ends = ends || pass.pass == Pass::hostOut;
    if (pass.pass != Pass::forward) continue;
    for (const IrOperator& op : pass.operators) {
      if (!uses.multipliesWeights(op)) continue;
      last = op.name;
      std::size_t operand = SIZE_MAX;
      for (const IrTensorId id : op.inputs) {
        const compile::TensorUse use = stage.tensors[id].use;
        if (use != compile::TensorUse::weight && use != compile::TensorUse::gatheredWeight &&
            operand == SIZE_MAX)
          operand = uses.root(indexOf(id));
      }
      operandOf_[op.name] = {stage.index, operand};
    }
  }
  if (ends && !last.empty()) outputLayers_.insert(last);
}

bool StandInGradients::add(const StageIr& stage, const IrOperator& product, std::size_t gradient) {
  // A gradient is called after its product: "layer0/up/grad_weight".
  const std::string name = product.name.substr(0, product.name.rfind('/'));
  const auto found = operandOf_.find(name);
  if (found == operandOf_.end() || outputLayers_.contains(name)) return false;
  const graph::TensorType& type = stage.tensors.items()[gradient].type;
  Layer& layer = layers_[found->second];
  layer.shapes.push_back(toString(type));
  layer.bytes += type.bytes().count / std::max<std::int64_t>(1, groupsOf(product));
  return true;
}

std::map<std::string, std::int64_t> StandInGradients::tensors() const {
  std::map<std::string, std::int64_t> all;
  for (const auto& [operand, layer] : layers_) {
    std::vector<std::string> shapes = layer.shapes;
    std::ranges::sort(shapes);
    all[fmt::format("{}", fmt::join(shapes, " and "))] = layer.bytes;
  }
  return all;
}

}  // namespace pipescope::devices::hbm_card
