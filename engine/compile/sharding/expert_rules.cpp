// Mixtures of experts. Along the axis `expert` each rank holds some of the experts: the rows of its samples
// go to the ranks that hold their experts, and the results come back (GShard, arXiv 2006.16668). Along the
// axis `tensor` the ranks divide every expert, by columns and rows as other products.
#include <algorithm>
#include <cmath>

#include "engine/compile/sharding/division_rule.h"

namespace pipescope::compile {
namespace {

/// True if ExpertCombine alone reads the result of a product.
bool onlyCombined(const DivisionCall& call) {
  const graph::TensorId result = call.node.outputs[0];
  const auto combines = [&](graph::NodeId reader) { return call.graph.node(reader).op == "ExpertCombine"; };
  const std::vector<graph::NodeId>& readers = call.readers[static_cast<std::size_t>(result.value)];
  return !readers.empty() && std::ranges::all_of(readers, combines) &&
         std::ranges::find(call.graph.outputs, result) == call.graph.outputs.end();
}

std::optional<NodeDivision> divideDispatch(const DivisionCall& call) {
  NodeDivision division = wholeDivision(call);
  if (call.alongContext() && (call.inputs[0] == 0 || call.inputs[1] == 0)) {
    // A limit for the tokens of all ranks together cannot be kept by each of them.
    if (!call.divides(call.shape(0), 0) || graph::intAttribute(call.node, "capacity", 0) > 0)
      return std::nullopt;
    division.special = NodeDivision::Special::routing;
    division.inputs = {0, 0};
    division.outputs[0] = 0;
    if (division.outputs.size() > 2) division.outputs[2] = 0;
    return division;
  }
  if (!call.amongExperts()) return division;
  const std::int64_t experts = graph::intAttribute(call.node, "experts", 0);
  const auto shares = call.options.expertLoad.shares(experts, expertLayerOf(call.graph, call.node));
  if (!shares.ok()) return std::nullopt;
  const RankLoads loads = loadsOf(*shares, call.ranks(), call.shape(1)[0] * call.shape(1)[1],
                                  graph::intAttribute(call.node, "capacity", 0));
  division.special = NodeDivision::Special::expertDispatch;
  division.rows = std::max<std::int64_t>(1, std::llround(std::ceil(loads.rows[loads.hottest] - 1e-9)));
  division.outputs[0] = 0;
  if (division.outputs.size() > 1) division.outputs[1] = 0;
  return division;
}

std::optional<NodeDivision> divideCombine(const DivisionCall& call) {
  NodeDivision division = wholeDivision(call);
  if (call.alongContext() && call.inputs[0] == 0) {
    division.inputs.assign(call.node.inputs.size(), 0);
    division.outputs = {0};
    return division;
  }
  if (call.inputs[0] == kSummand) {
    division.inputs[0] = kSummand;
    division.sums = true;
    return division;
  }
  if (!call.amongExperts()) return division;
  division.special = NodeDivision::Special::expertCombine;
  division.inputs[0] = 0;
  return division;
}

std::optional<NodeDivision> divideExpertProduct(const DivisionCall& call) {
  NodeDivision division = wholeDivision(call);
  const DividedAxis rows = call.inputs[0], weight = call.inputs[1];
  if (call.amongExperts()) {
    division.inputs = {0, 0, 0};
    division.outputs = {0};
  } else if (call.alongContext()) {
    // The rows of a rank's own tokens, with all experts.
    division.inputs[0] = division.outputs[0] = rows == 0 ? 0 : kWhole;
  } else if (rows == 1 || weight == 2) {
    if (!call.divides(call.shape(0), 1) || !call.divides(call.shape(1), 2)) return std::nullopt;
    division.inputs = {1, 2, kWhole};
    // The results of a token's experts are combined first and summed then, if nobody else reads them.
    if (onlyCombined(call)) {
      division.outputs = {kSummand};
    } else {
      division.sums = true;
    }
  } else if (weight == 1) {
    division.inputs[1] = 1;
    division.outputs = {1};
  } else if (weight != kWhole) {
    return std::nullopt;
  }
  return division;
}

}  // namespace

PIPESCOPE_REGISTER_DIVISION(expert_rules) {
  registry.add("ExpertDispatch", divideDispatch);
  registry.add("ExpertCombine", divideCombine);
  registry.add("ExpertProduct", divideExpertProduct);
}

}  // namespace pipescope::compile
