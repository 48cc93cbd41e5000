#pragma once
// Reductions over any axes: the axes, the shapes, and a walk over memory.
#include <span>

#include "engine/ops/core/broadcast.h"
#include "engine/ops/core/operator.h"

namespace pipescope::ops {

struct ReducePlan {
  Shape result;  ///< with or without the reduced axes
  Shape kept;    ///< the input's shape with extents of 1 for reduced axes
  /// Runs of neighbouring axes that are all kept or all reduced, with their extents, outermost first.
  struct Run {
    std::int64_t extent = 1;
    bool reduced = false;
  };
  std::vector<Run> runs;
  std::int64_t outputs = 1, depth = 1;

  bool contiguous() const { return !runs.empty() && runs.back().reduced; }
};

/// The axes come from a constant second input or the attribute `axes`. Without either, all axes are reduced,
/// or none with noop_with_empty_axes.
Result<ReducePlan> reducePlanOf(const OperatorCall& call);

/// Visits x once and in order. Calls row(first input element, count, output) for neighbours that are reduced
/// into one output, and rows(first input element, count, first output) for neighbours that go to neighbouring
/// outputs.
template <class Row, class Across>
std::int64_t walkReduction(std::span<const ReducePlan::Run> runs, std::size_t at, std::int64_t x,
                           std::int64_t y, const Row& row, const Across& across) {
  if (at == runs.size()) {
    row(x, 1, y);
    return 1;
  }
  std::int64_t below = 1, outputs = 1;
  for (std::size_t i = at + 1; i < runs.size(); ++i) {
    below *= runs[i].extent;
    if (!runs[i].reduced) outputs *= runs[i].extent;
  }
  const std::int64_t extent = runs[at].extent;
  if (at + 1 == runs.size()) {
    if (runs[at].reduced) {
      row(x, extent, y);
    } else {
      across(x, extent, y);
    }
  } else {
    for (std::int64_t i = 0; i < extent; ++i)
      walkReduction(runs, at + 1, x + i * below, runs[at].reduced ? y : y + i * outputs, row, across);
  }
  return runs[at].reduced ? outputs : outputs * extent;
}

}  // namespace pipescope::ops
