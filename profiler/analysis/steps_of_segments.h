#pragma once
// Reads the steps of some segments, block by block. It skips blocks that hold none of them.
#include <map>
#include <vector>

#include "profiler/analysis/block_walk.h"

namespace pipescope::analysis {

/// Calls visit(step, value) for the steps of the segments that are keys of `wanted`. It fails if a block that
/// may hold them is damaged, because a sum over the remaining steps would be wrong without a warning.
template <class Value, class Visit>
base::Status forEachStepOf(const model::ProfileSource& source, std::map<model::SegmentId, Value>& wanted,
                           base::Progress& progress, Visit&& visit) {
  if (wanted.empty()) return {};
  PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> blocks, source.blocks<model::Step>());
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    PIPESCOPE_TRY(stopped(progress));
    if (blocks[b].rows > 0) {  // A damaged block has no rows. Reading it gives the error.
      PIPESCOPE_ASSIGN(const std::vector<model::ColumnRange> ranges, source.ranges<model::Step>(b));
      if (!ranges.empty() && ranges.front().known) {
        const auto first = wanted.lower_bound(model::SegmentId(ranges.front().smallest));
        if (first == wanted.end() || first->first.value > ranges.front().largest) continue;
      }
    }
    PIPESCOPE_ASSIGN(const model::Rows<model::Step> rows, source.block<model::Step>(b));
    for (const model::Step& step : *rows)
      if (const auto found = wanted.find(step.segment); found != wanted.end()) visit(step, found->second);
  }
  return {};
}

}  // namespace pipescope::analysis
