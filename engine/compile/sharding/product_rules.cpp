// Products of matrices. A weight is divided by columns, so that each rank makes a part of the result, or by
// rows, so that each rank makes a summand of it (Megatron-LM, arXiv 1909.08053).
#include <algorithm>

#include "engine/compile/sharding/division_rule.h"

namespace pipescope::compile {
namespace {

bool isGemm(const graph::Node& node) {
  return node.op == "Gemm";
}

/// The bias of a Gemm, for a result that is divided along `axis` (0: rows, 1: columns).
DividedAxis biasAxis(const DivisionCall& call, DividedAxis axis) {
  const graph::Shape& bias = call.shape(2);
  const DividedAxis own = axis - (2 - static_cast<DividedAxis>(bias.size()));
  return own < 0 || bias[static_cast<std::size_t>(own)] == 1 ? kWhole : own;
}

/// Ranks that have positions of their own keep the rows of these. A product with a weight takes any rows. In
/// an attention, each rank has the queries of its positions, and needs the keys and values of all; or the
/// ranks exchange positions for heads, which lie beside each other.
std::optional<NodeDivision> divideByPositions(const DivisionCall& call, const ProductAxes& axes) {
  NodeDivision division = wholeDivision(call);
  const graph::Shape &left = call.shape(0), &right = call.shape(1);
  const auto rank = static_cast<DividedAxis>(call.outputShape().size());
  const auto extent = [](const graph::Shape& shape, DividedAxis axis) {
    return shape[static_cast<std::size_t>(axis)];
  };
  const std::int64_t positions = call.options.positions;
  if (call.options.exchangesHeads && left.size() == right.size() && rank > 2 && call.inputs[1] != kWhole) {
    const DividedAxis heads = rank - 3;
    const bool plain = extent(left, heads) % positions != 0 && extent(right, heads) % positions != 0;
    if (plain && call.divides(left, heads) && call.divides(right, heads)) {
      division.inputs[0] = division.inputs[1] = heads;
      division.outputs = {heads};
      return division;
    }
  }
  // Rows of the left factor, whatever axis its parts lie along now.
  DividedAxis rows = call.inputs[0];
  const DividedAxis usual = isGemm(call.node) ? 1 - axes.sumLeft : static_cast<DividedAxis>(left.size()) - 2;
  if (rows == kWhole || rows == axes.sumLeft || extent(left, rows) % positions != 0) rows = usual;
  const DividedAxis output = isGemm(call.node) ? 0 : rows + rank - static_cast<DividedAxis>(left.size());
  if (extent(left, rows) % positions != 0 || !call.divides(left, rows)) return std::nullopt;
  division.inputs[0] = rows;
  division.outputs = {output};
  if (call.has(2)) division.inputs[2] = biasAxis(call, output);
  return division;
}

std::optional<NodeDivision> divideProduct(const DivisionCall& call) {
  const std::optional<ProductAxes> axes = productAxes(call);
  NodeDivision division = wholeDivision(call);
  const DividedAxis left = call.inputs[0], right = call.inputs[1];
  if (left == kWhole && right == kWhole) {
    const bool bias = call.inputs.size() > 2 && call.inputs[2] != kWhole;
    return bias ? std::nullopt : std::optional(division);
  }
  if (!axes) return std::nullopt;
  if (call.alongContext()) return divideByPositions(call, *axes);
  const auto rank = static_cast<DividedAxis>(call.outputShape().size());
  const bool bias = call.has(2);
  // Summed over what is divided: each rank has a summand.
  if (left == axes->sumLeft || right == axes->sumRight) {
    if (!call.divides(call.shape(0), axes->sumLeft) || !call.divides(call.shape(1), axes->sumRight))
      return std::nullopt;
    division.inputs[0] = axes->sumLeft;
    division.inputs[1] = axes->sumRight;
    division.sums = true;
    if (bias) division.addedAfterSum = 2;
    return division;
  }
  // Columns of the result.
  if (right == axes->right) {
    division.inputs[1] = right;
    division.outputs = {rank - 1};
    if (bias) division.inputs[2] = biasAxis(call, rank - 1);
    return division;
  }
  // Rows of the result, or products that lie beside each other.
  const auto outputAxis = [&](std::size_t input, DividedAxis axis) -> DividedAxis {
    if (isGemm(call.node)) return 0;
    return axis + rank - static_cast<DividedAxis>(call.shape(input).size());
  };
  const std::size_t from = left != kWhole ? 0 : 1;
  const DividedAxis axis = outputAxis(from, from == 0 ? left : right);
  if (!call.divides(call.outputShape(), axis)) return std::nullopt;
  division.outputs = {axis};
  for (const std::size_t input : {std::size_t{0}, std::size_t{1}}) {
    if (isGemm(call.node)) {
      division.inputs[input] = input == from ? (from == 0 ? left : right) : kWhole;
      continue;
    }
    const graph::Shape& shape = call.shape(input);
    const DividedAxis own = axis - (rank - static_cast<DividedAxis>(shape.size()));
    // The two inner axes of each factor are those of the product; the others lie beside each other.
    const bool inner = own >= static_cast<DividedAxis>(shape.size()) - 2;
    if (own < 0 || (inner && input != from) || shape[static_cast<std::size_t>(own)] == 1) continue;
    if (!call.divides(shape, own)) return std::nullopt;
    division.inputs[input] = own;
  }
  if (bias) division.inputs[2] = biasAxis(call, axis);
  return division;
}

}  // namespace

std::optional<ProductAxes> productAxes(const DivisionCall& call) {
  if (isGemm(call.node)) {
    const bool turnedLeft = graph::intAttribute(call.node, "transA", 0) != 0,
               turnedRight = graph::intAttribute(call.node, "transB", 0) != 0;
    return ProductAxes{turnedLeft ? 0 : 1, turnedRight ? 1 : 0, turnedRight ? 0 : 1};
  }
  if (call.node.op != "MatMul" || call.shape(0).size() < 2 || call.shape(1).size() < 2) return std::nullopt;
  const auto right = static_cast<DividedAxis>(call.shape(1).size());
  return ProductAxes{static_cast<DividedAxis>(call.shape(0).size()) - 1, right - 2, right - 1};
}

PIPESCOPE_REGISTER_DIVISION(product_rules) {
  registry.add("Gemm", divideProduct);
  registry.add("MatMul", divideProduct);
}

}  // namespace pipescope::compile
