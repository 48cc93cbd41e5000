#pragma once
// The tables of a comparison of two profiles, the same for the command line and the window.
#include "profiler/analysis/pipeline/diff.h"
#include "profiler/sections/section.h"

namespace pipescope::sections {

struct DiffChoice {
  int mostRows = 0;  ///< rows of each table; one more row sums up the rest; 0: all rows
  /// True: with tables that mean little to a reader of these two profiles, as JSON and CSV have them.
  bool all = true;
};

/// Changed options first, then the parts of time and memory whose changes add up to the whole. `after` is the
/// catalog of the second profile.
Section diffSection(const analysis::Diff& diff, const analysis::Catalog& after, const DiffChoice& choice);

}  // namespace pipescope::sections
