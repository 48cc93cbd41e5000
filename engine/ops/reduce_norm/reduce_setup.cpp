#include "engine/ops/reduce_norm/reduce_setup.h"

#include <fmt/format.h>

namespace pipescope::ops {

using base::badInput;

namespace {

Result<std::vector<bool>> reducedAxes(const OperatorCall& call) {
  const auto rank = static_cast<std::int64_t>(call.input(0).shape.size());
  const bool attribute = call.node.attributes.contains("axes");
  const bool second = call.node.op == "ReduceSum" && call.has(1);
  if (attribute && second)
    return badInput(fmt::format("{}: give its axes as second input or as attribute, not both", call.title()));
  std::vector<std::int64_t> axes = graph::intsAttribute(call.node, "axes", {});
  if (second) {
    PIPESCOPE_ASSIGN(axes, call.constantInts(1, "its axes (input 1)"));
  }
  const bool all = axes.empty() && graph::intAttribute(call.node, "noop_with_empty_axes", 0) == 0;
  std::vector<bool> reduced(static_cast<std::size_t>(rank), all);
  for (const std::int64_t axis : axes) {
    if (axis < -rank || axis >= rank) {
      return badInput(fmt::format("{}: axis {} is not one of the {} axes of {}", call.title(), axis, rank,
                                  graph::toString(call.input(0))));
    }
    reduced[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)] = true;
  }
  return reduced;
}

}  // namespace

Result<ReduceSetup> reduceSetupOf(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const std::vector<bool> reduced, reducedAxes(call));
  const Shape& x = call.input(0).shape;
  if (x.size() > Broadcast::kMostAxes)
    return badInput(fmt::format("{}: its input has {} axes; it may have {}", call.title(), x.size(),
                                Broadcast::kMostAxes));
  const bool keep = graph::intAttribute(call.node, "keepdims", 1) != 0;
  ReduceSetup setup;
  for (std::size_t axis = 0; axis < x.size(); ++axis) {
    setup.kept.push_back(reduced[axis] ? 1 : x[axis]);
    if (keep || !reduced[axis]) setup.result.push_back(setup.kept.back());
    (reduced[axis] ? setup.depth : setup.outputs) *= x[axis];
    if (setup.runs.empty() || setup.runs.back().reduced != reduced[axis])
      setup.runs.push_back({1, reduced[axis]});
    setup.runs.back().extent *= x[axis];
  }
  return setup;
}

namespace {

/// Returns the number of outputs of the runs from `at` on.
std::int64_t walkReductionFrom(std::span<const ReduceSetup::Run> runs, std::size_t at, std::int64_t from,
                               std::int64_t to, const ReductionVisit& visit) {
  if (at == runs.size()) {
    visit.visitRow(visit.row, from, 1, to);
    return 1;
  }
  std::int64_t below = 1, outputs = 1;
  for (std::size_t i = at + 1; i < runs.size(); ++i) {
    below *= runs[i].extent;
    if (!runs[i].reduced) outputs *= runs[i].extent;
  }
  const auto [extent, reduced] = runs[at];
  if (at + 1 == runs.size()) {
    if (reduced) {
      visit.visitRow(visit.row, from, extent, to);
    } else {
      visit.visitAcross(visit.across, from, extent, to);
    }
  } else {
    for (std::int64_t i = 0; i < extent; ++i)
      walkReductionFrom(runs, at + 1, from + i * below, reduced ? to : to + i * outputs, visit);
  }
  return reduced ? outputs : outputs * extent;
}

}  // namespace

void walkReduction(std::span<const ReduceSetup::Run> runs, const ReductionVisit& visit) {
  walkReductionFrom(runs, 0, 0, 0, visit);
}

}  // namespace pipescope::ops
