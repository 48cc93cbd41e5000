#pragma once
// What a profile holds at one commit: totals, state and the directory of blocks, without any row.
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "profiler/base/result.h"
#include "profiler/model/source.h"
#include "profiler/store/batch.h"
#include "profiler/store/sqlite_database.h"

namespace pipescope::store {

/// A block of the directory, or rows that should be there and are not.
struct BlockEntry {
  BlockRecord record;
  std::string problem;  ///< of a hole: what is lost, as a sentence; empty for blocks
};

struct TableContent {
  TableTotals totals;
  std::string problem;  ///< why the table cannot be read; empty: it can
  std::vector<BlockEntry> blocks;
};

struct Snapshot {
  std::array<TableContent, model::kTableCount> tables;
  std::int64_t commits = 0;
  model::SourceState state;
  std::string lastCommitUtc;
  WriterProcess writer;
  std::int64_t lastBlock = 0;  ///< largest id seen in the directory
};

/// Refuses views, triggers, and any definition of a known table that is not the known one.
base::Status checkSchema(Database& database);

/// The profile as of its last commit. `earlier` (or null) spares reading the directory again from its start.
base::Result<Snapshot> loadSnapshot(Database& database, const Snapshot* earlier);

/// The revision that the file has now.
base::Result<std::int64_t> readCommits(Database& database);

}  // namespace pipescope::store
