// Exchanges that a division along another axis of the mesh has put in. They work on parts of their tensor, as
// long as these are divided along another axis of it.
#include "engine/compile/sharding/division_rule.h"

namespace pipescope::compile {
namespace {

std::optional<NodeDivision> divideExchange(const DivisionCall& call) {
  NodeDivision division = wholeDivision(call);
  if (call.inputs.empty() || call.inputs[0] == kWhole) return division;
  const bool moves = call.node.attributes.contains("axis");
  for (const char* axis : {"axis", "to_axis"})
    if (moves && graph::intAttribute(call.node, axis, -1) == call.inputs[0]) return std::nullopt;
  division.inputs[0] = division.outputs[0] = call.inputs[0];
  return division;
}

}  // namespace

PIPESCOPE_REGISTER_DIVISION(rank_rules) {
  for (const char* op : {"RankSum", "RankCopy", "RankMax", "RankGather", "RankSlice", "RankPad",
                         "RankScatterSum", "RankIndex", "RankExchange"})
    registry.add(op, divideExchange);
}

}  // namespace pipescope::compile
