// Sums and extrema along axes, normalizations and losses.
#include <algorithm>

#include "engine/compile/sharding/division_rule.h"

namespace pipescope::compile {
namespace {

DividedAxis countedFromFront(std::int64_t axis, std::size_t rank) {
  return axis < 0 ? axis + static_cast<DividedAxis>(rank) : axis;
}

std::optional<NodeDivision> divideReduce(const DivisionCall& call) {
  NodeDivision division = wholeDivision(call);
  const DividedAxis axis = call.inputs[0];
  if (axis == kWhole) return division;
  const std::size_t rank = call.shape(0).size();
  std::vector<std::int64_t> axes = graph::intsAttribute(call.node, "axes", {});
  if (call.has(1)) {
    const auto stated = call.numbers(1);
    if (!stated) return std::nullopt;
    axes = *stated;
  }
  if (axes.empty())
    for (std::size_t i = 0; i < rank; ++i) axes.push_back(static_cast<std::int64_t>(i));
  DividedAxis after = axis;
  bool reduced = false;
  const bool keeps = graph::intAttribute(call.node, "keepdims", 1) != 0;
  for (const std::int64_t each : axes) {
    const DividedAxis own = countedFromFront(each, rank);
    reduced = reduced || own == axis;
    if (!keeps && own < axis) --after;
  }
  division.inputs[0] = axis;
  if (!reduced) {
    division.outputs = {after};
    return division;
  }
  if (call.node.op != "ReduceSum" && call.node.op != "ReduceMean") return std::nullopt;
  division.sums = true;
  division.means = call.node.op == "ReduceMean";
  return division;
}

/// Softmax or TopK along another axis than the divided one. Ranks that divide caches also do a softmax along
/// the divided axis: they exchange the largest score and the sum of each row.
std::optional<NodeDivision> divideSoftmax(const DivisionCall& call) {
  NodeDivision division = wholeDivision(call);
  const DividedAxis axis = call.inputs[0];
  if (axis == kWhole) return division;
  if (countedFromFront(graph::intAttribute(call.node, "axis", -1), call.shape(0).size()) == axis) {
    if (!call.options.caches || call.node.op != "Softmax") return std::nullopt;
    division.special = NodeDivision::Special::softmax;
  }
  division.inputs[0] = axis;
  division.outputs.assign(call.node.outputs.size(), axis);
  return division;
}

/// Layer normalization of rows that are divided among the ranks; its weights are whole.
std::optional<NodeDivision> divideLayerNorm(const DivisionCall& call) {
  NodeDivision division = wholeDivision(call);
  const DividedAxis axis = call.inputs[0];
  if (axis == kWhole) return division;
  if (countedFromFront(graph::intAttribute(call.node, "axis", -1), call.shape(0).size()) <= axis)
    return std::nullopt;
  division.inputs[0] = axis;
  division.outputs.assign(call.node.outputs.size(), axis);
  return division;
}

/// The classes are divided: three numbers a row are exchanged instead of the scores.
std::optional<NodeDivision> divideCrossEntropy(const DivisionCall& call) {
  NodeDivision division = wholeDivision(call);
  const bool meanOfAll = !call.has(2) && call.node.outputs.size() == 1 &&
                         !call.node.attributes.contains("ignore_index") &&
                         graph::stringAttribute(call.node, "reduction", "mean") == "mean";
  if (call.alongContext() && call.inputs[0] == 0 && meanOfAll && call.divides(call.shape(1), 0)) {
    // Each rank has the mean over its own positions, which are as many as those of any other.
    division.inputs[0] = division.inputs[1] = 0;
    division.sums = division.means = true;
    return division;
  }
  if (call.inputs[0] == kWhole) return division;
  const auto labels = static_cast<DividedAxis>(call.shape(1).size());
  const bool plain = call.inputs[0] == 1 && labels == 1 && meanOfAll && !call.alongContext();
  if (!plain) return std::nullopt;
  division.inputs[0] = 1;
  division.special = NodeDivision::Special::crossEntropy;
  return division;
}

}  // namespace

PIPESCOPE_REGISTER_DIVISION(reduction_rules) {
  for (const char* op : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1",
                         "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"})
    registry.add(op, divideReduce);
  for (const char* op : {"Softmax", "LogSoftmax", "TopK"}) registry.add(op, divideSoftmax);
  registry.add("LayerNormalization", divideLayerNorm);
  registry.add("SoftmaxCrossEntropyLoss", divideCrossEntropy);
}

}  // namespace pipescope::compile
