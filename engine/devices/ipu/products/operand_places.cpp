#include "engine/devices/ipu/products/operand_places.h"

namespace pipescope::devices::ipu {

OperandPlaces operandPlacesOf(const compile::StageIr& stage, const compile::IrOperator& op,
                              const ops::Contraction& product) {
  using Phase = ops::Contraction::Phase;
  using compile::TensorUse;
  const auto placed = [&](const compile::IrTensorId id) {
    if (!id.valid()) return false;
    const TensorUse use = stage.tensors[id].use;
    return use == TensorUse::weight || use == TensorUse::constant || use == TensorUse::gatheredWeight;
  };
  const auto operand = [&](std::size_t index) {
    return index < op.inputs.size() && placed(op.inputs[index]);
  };
  // The right operand is the one with weights if there is only one, however the product is written.
  const bool weightsOnRight = product.trained || product.phase == Phase::inputGradient;
  if (weightsOnRight && product.phase != Phase::weightGradient)
    return {operand(0) && operand(1), operand(0) || operand(1)};
  return {operand(0), operand(1)};
}

}  // namespace pipescope::devices::ipu
