// Operators that compute each element of the result from one element of each operand, with broadcasting.
#include <algorithm>

#include "engine/compile/sharding/division_rule.h"

namespace pipescope::compile {
namespace {

/// The result is divided as the first divided operand. An operand that spreads along that axis is whole.
std::optional<NodeDivision> divideElementwise(const DivisionCall& call) {
  const auto rank = static_cast<DividedAxis>(call.outputShape().size());
  DividedAxis axis = kWhole;
  for (std::size_t i = 0; i < call.inputs.size() && axis == kWhole; ++i)
    if (call.inputs[i] != kWhole)
      axis = call.inputs[i] + rank - static_cast<DividedAxis>(call.shape(i).size());
  NodeDivision division;
  division.inputs.assign(call.node.inputs.size(), kWhole);
  division.outputs.assign(call.node.outputs.size(), axis);
  if (axis == kWhole) return division;
  for (std::size_t i = 0; i < call.node.inputs.size(); ++i) {
    if (!call.has(i)) continue;
    const graph::Shape& shape = call.shape(i);
    const DividedAxis own = axis - (rank - static_cast<DividedAxis>(shape.size()));
    if (own < 0 || shape[static_cast<std::size_t>(own)] == 1) continue;
    if (!call.divides(shape, own)) return std::nullopt;
    division.inputs[i] = own;
  }
  return division;
}

}  // namespace

PIPESCOPE_REGISTER_DIVISION(elementwise_rules) {
  for (const char* op : {"Abs",
                         "Acos",
                         "Acosh",
                         "Add",
                         "And",
                         "Asin",
                         "Asinh",
                         "Atan",
                         "Atanh",
                         "BitShift",
                         "BitwiseAnd",
                         "BitwiseNot",
                         "BitwiseOr",
                         "BitwiseXor",
                         "Cast",
                         "Ceil",
                         "Celu",
                         "Clip",
                         "Cos",
                         "Cosh",
                         "Div",
                         "Dropout",
                         "Elu",
                         "Equal",
                         "Erf",
                         "Exp",
                         "Float8Cast",
                         "Floor",
                         "Gelu",
                         "Greater",
                         "GreaterOrEqual",
                         "HardSigmoid",
                         "HardSwish",
                         "Hold",
                         "Identity",
                         "IsInf",
                         "IsNaN",
                         "LeakyRelu",
                         "Less",
                         "LessOrEqual",
                         "Log",
                         "Max",
                         "Mean",
                         "Min",
                         "Mish",
                         "Mod",
                         "Mul",
                         "Neg",
                         "Not",
                         "Or",
                         "PRelu",
                         "Pow",
                         "Reciprocal",
                         "Relu",
                         "Round",
                         "Selu",
                         "Sigmoid",
                         "Sign",
                         "Sin",
                         "Sinh",
                         "Softplus",
                         "Softsign",
                         "Sqrt",
                         "StopGradient",
                         "Sub",
                         "Sum",
                         "Tan",
                         "Tanh",
                         "ThresholdedRelu",
                         "Where",
                         "Xor"})
    registry.add(op, divideElementwise);
}

}  // namespace pipescope::compile
