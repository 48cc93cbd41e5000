#pragma once
// The tables of a comparison that list changed parts, largest first. A table with at most `most` rows has one
// more row with the sum of the rest, so that it still adds up. That row is never the largest: if it were, the
// table has more rows. With `most` = 0 it has all rows.
#include "profiler/analysis/pipeline/diff.h"
#include "profiler/sections/frame/section.h"
#include "profiler/sections/frame/words.h"

namespace pipescope::sections {

SectionTable changedOptionTable(const char* key, const char* title,
                                const std::vector<analysis::ChangedOption>& changed);
/// The critical path by pass.
SectionTable diffPassTable(const analysis::Diff& diff, const Words& words);
/// The critical path by kernel and copy.
SectionTable diffTimeTable(const analysis::Diff& diff, const Words& words, int most);
/// Tables of the time of each micro-batch, and of memory by device and category.
SectionTable diffMicroBatchTable(const analysis::Diff& diff, const Words& words, int most);
SectionTable diffMemoryTable(const analysis::Diff& diff, int most);
/// Devices of different families have no counterparts, so their memory is compared as a whole.
SectionTable diffCategoryTable(const analysis::Diff& diff);
/// The operations of the model, wherever they run.
base::Result<SectionTable> diffOperationTable(const Context& before, const Context& after,
                                              const analysis::Diff& diff, const Words& words, int most);

}  // namespace pipescope::sections
