#pragma once
// Tells how sure the figures of a plan are.
#include <optional>

#include "engine/compiler/compilation.h"
#include "profiler/base/result.h"
#include "profiler/figures/error_interval.h"

namespace pipescope::app {

/// The intervals that a profile of the plan would show.
struct PlanIntervals {
  std::optional<figures::FigureInterval> step;  ///< true step time ÷ emulated one
  /// The probability that each device holds what lies in it. None: the system has no memory.
  std::optional<double> fitsShare;
};

/// Emulates the plan into a profile in memory and reads its figures step_least_cycles, step_most_cycles and
/// fits_share. Errors: those of the analyses.
base::Result<PlanIntervals> planIntervals(const compile::Compilation& compilation);

}  // namespace pipescope::app
