// Operators that move, pick or rename elements.
#include <algorithm>
#include <numeric>

#include "engine/compile/sharding/division_rule.h"

namespace pipescope::compile {
namespace {

std::size_t at(DividedAxis axis) {
  return static_cast<std::size_t>(axis);
}

DividedAxis counted(std::int64_t axis, std::size_t rank) {
  return axis < 0 ? axis + static_cast<DividedAxis>(rank) : axis;
}

/// The axis of the new shape along which the same elements make the parts as along an axis of the old one.
std::optional<DividedAxis> sameParts(const DivisionCall& call, const graph::Shape& before, DividedAxis axis,
                                     const graph::Shape& after) {
  const std::int64_t blocks = call.blocks(before, axis);
  const bool positions = call.alongContext() && before[at(axis)] == blocks * call.options.positions;
  const std::int64_t outer =
      std::accumulate(before.begin(), before.begin() + axis, blocks, std::multiplies<>());
  std::int64_t own = 1;
  for (std::size_t i = 0; i < after.size(); ++i) {
    const auto found = static_cast<DividedAxis>(i);
    const bool fits = positions ? outer % own == 0 && after[i] == outer / own * call.options.positions
                                : own == outer && after[i] > 1;
    if (fits && call.divides(after, found)) return found;
    own *= after[i];
  }
  return std::nullopt;
}

/// Reshape, Flatten, Squeeze and Unsqueeze keep the order of the elements.
std::optional<NodeDivision> divideReshape(const DivisionCall& call) {
  NodeDivision division = wholeDivision(call);
  if (call.inputs[0] == kWhole) return division;
  const auto axis = sameParts(call, call.shape(0), call.inputs[0], call.outputShape());
  if (!axis) return std::nullopt;
  division.inputs[0] = call.inputs[0];
  division.outputs = {*axis};
  if (call.node.op == "Reshape") {
    std::vector<std::int64_t> shape = call.outputShape();
    shape[at(*axis)] /= call.ranks();
    if (!call.numbers(1)) return std::nullopt;
    division.numbers[1] = std::move(shape);
  }
  return division;
}

std::optional<NodeDivision> divideTranspose(const DivisionCall& call) {
  NodeDivision division = wholeDivision(call);
  if (call.inputs[0] == kWhole) return division;
  const std::size_t rank = call.shape(0).size();
  std::vector<std::int64_t> order(rank);
  for (std::size_t i = 0; i < rank; ++i) order[i] = static_cast<std::int64_t>(rank - 1 - i);
  order = graph::intsAttribute(call.node, "perm", order);
  division.inputs[0] = call.inputs[0];
  division.outputs = {std::ranges::find(order, call.inputs[0]) - order.begin()};
  return division;
}

/// Concat and Split: the axis along which parts lie one after the other must be whole.
std::optional<NodeDivision> divideAlong(const DivisionCall& call) {
  NodeDivision division = wholeDivision(call);
  const std::size_t rank = call.shape(0).size();
  const DividedAxis joined = counted(graph::intAttribute(call.node, "axis", 0), rank);
  const bool splits = call.node.op == "Split";
  DividedAxis axis = kWhole;
  for (std::size_t i = 0; i < (splits ? 1 : call.inputs.size()); ++i)
    if (axis == kWhole) axis = call.inputs[i];
  if (axis == kWhole) return division;
  if (axis == joined) return std::nullopt;
  for (std::size_t i = 0; i < (splits ? 1 : call.inputs.size()); ++i) division.inputs[i] = axis;
  division.outputs.assign(call.node.outputs.size(), axis);
  return division;
}

std::optional<NodeDivision> divideSlice(const DivisionCall& call) {
  NodeDivision division = wholeDivision(call);
  const DividedAxis axis = call.inputs[0];
  if (axis == kWhole) return division;
  const std::size_t rank = call.shape(0).size();
  std::vector<std::int64_t> axes;
  if (const auto stated = call.numbers(3)) {
    axes = *stated;
  } else if (const auto starts = call.numbers(1)) {
    axes.resize(starts->size());
    std::iota(axes.begin(), axes.end(), std::int64_t{0});
  } else {
    axes = graph::intsAttribute(call.node, "axes", {});
    if (axes.empty()) return std::nullopt;
  }
  if (std::ranges::any_of(axes, [&](std::int64_t cut) { return counted(cut, rank) == axis; }))
    return std::nullopt;
  division.inputs[0] = axis;
  division.outputs = {axis};
  return division;
}

/// A table whose rows are divided gives each rank the rows that it has; the sum is the whole result.
std::optional<NodeDivision> divideGather(const DivisionCall& call) {
  NodeDivision division = wholeDivision(call);
  const DividedAxis axis = counted(graph::intAttribute(call.node, "axis", 0), call.shape(0).size());
  const auto picked = static_cast<DividedAxis>(call.shape(1).size());
  if (call.inputs[0] == kWhole && call.inputs[1] == kWhole) return division;
  if (call.inputs[0] == kWhole) {
    division.inputs[1] = call.inputs[1];
    division.outputs = {axis + call.inputs[1]};
    return division;
  }
  division.inputs[0] = call.inputs[0];
  if (call.inputs[0] == axis) {
    if (axis != 0 || call.alongContext()) return std::nullopt;
    division.special = NodeDivision::Special::embedding;
    return division;
  }
  division.outputs = {call.inputs[0] < axis ? call.inputs[0] : call.inputs[0] - 1 + picked};
  return division;
}

/// Expand keeps a divided axis that it does not spread.
std::optional<NodeDivision> divideExpand(const DivisionCall& call) {
  NodeDivision division = wholeDivision(call);
  if (call.inputs[0] == kWhole) return division;
  const graph::Shape &before = call.shape(0), &after = call.outputShape();
  const DividedAxis axis =
      call.inputs[0] + static_cast<DividedAxis>(after.size()) - static_cast<DividedAxis>(before.size());
  if (!call.numbers(1) || after[at(axis)] != before[at(call.inputs[0])]) return std::nullopt;
  std::vector<std::int64_t> shape = after;
  shape[at(axis)] /= call.ranks();
  division.numbers[1] = std::move(shape);
  division.inputs[0] = call.inputs[0];
  division.outputs = {axis};
  return division;
}

}  // namespace

PIPESCOPE_REGISTER_DIVISION(move_rules) {
  for (const char* op : {"Reshape", "Flatten", "Squeeze", "Unsqueeze"}) registry.add(op, divideReshape);
  registry.add("Transpose", divideTranspose);
  for (const char* op : {"Concat", "Split"}) registry.add(op, divideAlong);
  registry.add("Slice", divideSlice);
  registry.add("Gather", divideGather);
  registry.add("Expand", divideExpand);
}

}  // namespace pipescope::compile
