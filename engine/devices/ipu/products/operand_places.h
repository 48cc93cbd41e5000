#pragma once
// Says which operands of a product lie where the product uses them.
#include <cstddef>
#include <optional>

#include "engine/compile/ir.h"

namespace pipescope::devices::ipu {

/// True for an operand whose layout was made for the product. Any other lies where its producer left it, or
/// where the host put it, so the product works on a copy of it.
struct OperandPlaces {
  bool left = true, right = true;
};

/// The places of the operands of one product of an operator. Weights and constants get the layout of the
/// product that reads them (C: PopART's Devicex asks the operator that uses a weight to create it).
OperandPlaces operandPlacesOf(const compile::StageIr& stage, const compile::IrOperator& op,
                              const ops::Contraction& product);

/// Returns the operand of the product that this input of the operator is: true for the right one, false for
/// the left one. None: the product gives the input no layout.
std::optional<bool> placedSide(const compile::StageIr& stage, const compile::IrOperator& op,
                               const ops::Contraction& product, std::size_t input);

}  // namespace pipescope::devices::ipu
