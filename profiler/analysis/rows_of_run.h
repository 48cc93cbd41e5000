#pragma once
// Reads the rows of one run, block by block. It skips blocks whose time range does not overlap the run.
#include <vector>

#include "profiler/analysis/block_walk.h"
#include "profiler/analysis/catalog.h"
#include "profiler/base/large_pages.h"

namespace pipescope::analysis {

/// Calls visit(row) for the rows in the order of recording. Row may be Placement, Transfer or Wait.
template <class Row, class Visit>
base::Status forEachRowOfRun(const model::ProfileSource& source, const model::Run& run, Visit&& visit) {
  PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> blocks, source.blocks<Row>());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    // A damaged block has no rows. Reading it gives the error, because figures without its rows would be
    // wrong.
    if (blocks[i].rows > 0 && !mayMeet(blocks[i], run.start, run.end)) continue;
    PIPESCOPE_TRY(forEachRowOfBlock<Row>(source, i, [&](const Row& row) {
      if (row.run == run.id) visit(row);
    }));
  }
  return {};
}

/// Returns these rows.
template <class Row>
Result<std::vector<Row>> rowsOfRun(const model::ProfileSource& source, const model::Run& run) {
  std::vector<Row> found;
  PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> blocks, source.blocks<Row>());
  std::int64_t most = 0;
  for (const model::BlockInfo& block : blocks)
    if (mayMeet(block, run.start, run.end)) most += block.rows;
  found.reserve(static_cast<std::size_t>(most));
  base::preferLargePages(found.data(), found.capacity() * sizeof(Row));
  PIPESCOPE_TRY(forEachRowOfRun<Row>(source, run, [&found](const Row& row) { found.push_back(row); }));
  return found;
}

}  // namespace pipescope::analysis
