#pragma once
// Rows of one run, read block by block and only where the block's time range meets the run's.
#include <vector>

#include "profiler/analysis/block_walk.h"
#include "profiler/analysis/catalog.h"

namespace pipescope::analysis {

/// In recorded order. For Placement, Transfer and Wait.
template <class Row>
Result<std::vector<Row>> rowsOfRun(const model::ProfileSource& source, const model::Run& run) {
  std::vector<Row> found;
  PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> blocks, source.blocks<Row>());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    // A hole is no block to pass over here: reading it says what the figures would lack.
    if (blocks[i].rows > 0 && !mayMeet(blocks[i], run.start, run.end)) continue;
    PIPESCOPE_ASSIGN(const model::Rows<Row> rows, source.block<Row>(i));
    for (const Row& row : *rows) {
      if (row.run == run.id) found.push_back(row);
    }
  }
  return found;
}

}  // namespace pipescope::analysis
