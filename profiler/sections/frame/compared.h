#pragma once
// Quantities of two profiles side by side.
#include <optional>
#include <vector>

#include "profiler/analysis/pipeline/collective_uses.h"
#include "profiler/analysis/pipeline/stages.h"
#include "profiler/figures/figure.h"
#include "profiler/sections/frame/section.h"
#include "profiler/sections/frame/words.h"

namespace pipescope::sections {

/// The analyses of one of the two profiles.
struct ComparedSide {
  figures::Analyses analyses;
  /// Ticks of the comparison in one tick of the profile. It differs from 1 if the clocks differ.
  double scale = 1;
  std::vector<analysis::AxisCommunication> axes = {};  ///< of the limiting stage, in ticks of the profile

  const analysis::StagesReport& stages() const { return *analyses.stages; }
};

using Wanted = std::optional<double>;  ///< nothing: the profile has no such figure

/// The figure as a cell; empty without a value.
inline Cell comparedCell(const Wanted& value) {
  return value ? Cell(*value) : Cell();
}

/// A quantity of both profiles. Without a value on one side there is no change.
struct Compared {
  Wanted before, after;

  Cell delta() const { return before && after ? Cell(*after - *before) : Cell(); }
  Cell relative() const {
    return before && after && *before > 0 ? Cell((*after - *before) / *before) : Cell();
  }
  bool any() const { return before.value_or(0) != 0 || after.value_or(0) != 0; }
};

/// Asks both sides for the same quantity.
template <class Value>
Compared compared(const ComparedSide& before, const ComparedSide& after, Value&& value) {
  return {value(before), value(after)};
}

}  // namespace pipescope::sections
