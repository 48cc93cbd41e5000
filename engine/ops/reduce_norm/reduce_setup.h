#pragma once
// Reductions over any axes: the axes, the shapes, and a walk over memory.
#include <span>

#include "engine/ops/core/broadcast.h"
#include "engine/ops/core/operator.h"

namespace pipescope::ops {

struct ReduceSetup {
  Shape result;  ///< shape with or without the reduced axes
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
Result<ReduceSetup> reduceSetupOf(const OperatorCall& call);

/// Functions that a walk calls with the first input element, the number of neighbours, and the first output.
/// Their types are erased, so that the walk is compiled once.
struct ReductionVisit {
  using Function = void (*)(const void* of, std::int64_t from, std::int64_t count, std::int64_t to);
  const void* row = nullptr;
  Function visitRow = nullptr;
  const void* across = nullptr;
  Function visitAcross = nullptr;
};
void walkReduction(std::span<const ReduceSetup::Run> runs, const ReductionVisit& visit);

/// Visits x once and in order. Calls row(first input element, count, output) for neighbours that are reduced
/// into one output, and across(first input element, count, first output) for neighbours that go to
/// neighbouring outputs.
template <class Row, class Across>
void walkReduction(std::span<const ReduceSetup::Run> runs, const Row& row, const Across& across) {
  walkReduction(runs, {&row,
                       [](const void* of, std::int64_t from, std::int64_t count, std::int64_t to) {
                         (*static_cast<const Row*>(of))(from, count, to);
                       },
                       &across,
                       [](const void* of, std::int64_t from, std::int64_t count, std::int64_t to) {
                         (*static_cast<const Across*>(of))(from, count, to);
                       }});
}

}  // namespace pipescope::ops
