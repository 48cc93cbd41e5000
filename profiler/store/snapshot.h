#pragma once
// Content of a profile at one commit: totals, state and the directory of blocks, without any rows.
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "profiler/base/result.h"
#include "profiler/model/source.h"
#include "profiler/store/batch.h"
#include "profiler/store/sqlite_database.h"

namespace pipescope::store {

/// A block of the directory, or a hole where rows are missing.
struct BlockEntry {
  BlockRecord record;
  std::string problem;  ///< sentence that says what is lost in a hole; empty for a block
};

struct TableContent {
  TableTotals totals;
  std::string problem;  ///< reason why the table cannot be read, or empty
  std::vector<BlockEntry> blocks;
};

struct Snapshot {
  std::array<TableContent, model::kTableCount> tables;
  std::int64_t commits = 0;
  model::SourceState state;
  /// Damage outside the tables, a sentence each: the end of the file, the entry of the state.
  std::vector<std::string> damage;
  std::string lastCommitUtc;
  WriterProcess writer;
  std::int64_t lastBlock = 0;  ///< largest id seen in the directory
};

/// Fails if the database has a view, a trigger, or a table with a known name and another definition.
base::Status checkSchema(Database& database);

/// Reads the profile as of its last commit. With `earlier`, only new entries of the directory are read.
base::Result<Snapshot> loadSnapshot(Database& database, const Snapshot* earlier);

/// Reads the current revision of the file.
base::Result<std::int64_t> readCommits(Database& database);

}  // namespace pipescope::store
