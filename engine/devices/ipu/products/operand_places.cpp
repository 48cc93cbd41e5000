#include "engine/devices/ipu/products/operand_places.h"

namespace pipescope::devices::ipu {
namespace {

bool isPlaced(const compile::StageIr& stage, const compile::IrOperator& op, std::size_t input) {
  using compile::TensorUse;
  if (input >= op.inputs.size() || !op.inputs[input].valid()) return false;
  const TensorUse use = stage.tensors[op.inputs[input]].use;
  return use == TensorUse::weight || use == TensorUse::constant || use == TensorUse::gatheredWeight;
}

/// True if the right operand is the one with weights where there is only one, however the product is written.
bool hasWeightsOnRight(const ops::Contraction& product) {
  using Phase = ops::Contraction::Phase;
  return (product.trained || product.phase == Phase::inputGradient) && product.phase != Phase::weightGradient;
}

}  // namespace

OperandPlaces operandPlacesOf(const compile::StageIr& stage, const compile::IrOperator& op,
                              const ops::Contraction& product) {
  const bool first = isPlaced(stage, op, 0), second = isPlaced(stage, op, 1);
  if (hasWeightsOnRight(product)) return {first && second, first || second};
  return {first, second};
}

std::optional<bool> placedSide(const compile::StageIr& stage, const compile::IrOperator& op,
                               const ops::Contraction& product, std::size_t input) {
  if (!isPlaced(stage, op, input) || product.phase == ops::Contraction::Phase::weightGradient) return {};
  const bool both = isPlaced(stage, op, 0) && isPlaced(stage, op, 1);
  return (hasWeightsOnRight(product) && !both) || input == 1;
}

}  // namespace pipescope::devices::ipu
