#pragma once
// The tables of a comparison of two profiles. The command line and the window show the same tables.
#include "profiler/analysis/pipeline/diff.h"
#include "profiler/sections/frame/section.h"

namespace pipescope::sections {

struct DiffChoice {
  /// Rows of a table; one more row is the sum of the rest, which is never the largest row: if it were, the
  /// table has more rows. 0: all rows.
  int mostRows = 0;
  /// True keeps tables and rows that say little about these two profiles. JSON and CSV have all of them.
  bool all = true;
};

/// The section leads with the changed options, the step with its parts, and the stages. Then it lists the
/// parts of time and memory, whose changes add up to the whole change.
base::Result<Section> diffSection(const Context& before, const Context& after, const analysis::Diff& diff,
                                  const DiffChoice& choice);

/// The facts and the first tables of that section, down to those of the stages: what needs no more than the
/// reports of the stages.
base::Result<Section> diffFigures(const Context& before, const Context& after);

/// The tables of that section that need no rows of calls: the versions and options that differ.
std::vector<SectionTable> changedOptionTables(const analysis::Catalog& before,
                                              const analysis::Catalog& after);

}  // namespace pipescope::sections
