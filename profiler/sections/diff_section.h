#pragma once
// The tables of a comparison of two profiles. The command line and the window show the same tables.
#include "profiler/analysis/pipeline/diff.h"
#include "profiler/sections/section.h"

namespace pipescope::sections {

struct DiffChoice {
  int mostRows = 0;  ///< most rows of a table; one more row is the sum of the rest; 0: all rows
  /// True keeps tables that say little about these two profiles. JSON and CSV have all tables.
  bool all = true;
};

/// The section lists the changed options first. Then it lists the parts of time and memory, whose changes add
/// up to the whole change. `after` is the catalog of the second profile.
Section diffSection(const analysis::Diff& diff, const analysis::Catalog& after, const DiffChoice& choice);

}  // namespace pipescope::sections
