#pragma once
// The rows of one commit: first coded, then written within a transaction of the caller's, which is short that
// way.
#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "profiler/base/result.h"
#include "profiler/model/source.h"
#include "profiler/store/block_coder.h"
#include "profiler/store/format.h"
#include "profiler/store/sqlite_database.h"
#include "profiler/store/writer_process.h"

namespace pipescope::store {

/// What a profile holds of one table: a row of store_table.
struct TableTotals {
  std::int64_t rows = 0;
  std::int64_t blocks = 0;
  std::uint32_t rowsCrc32 = 0;  ///< of plain rows, running; 0 for blocks, which have their own
};

/// What a profile holds: store_table and store_state.
struct Totals {
  std::array<TableTotals, model::kTableCount> tables;
  std::int64_t commits = 0;  ///< the profile's revision
  std::int64_t nextBlock = 1;
  model::ProfileState state = model::ProfileState::running;
  std::string reason;
  std::string lastCommitUtc;
  WriterProcess writer;
};

/// A row of store_block.
struct BlockRecord {
  std::int64_t id = 0;
  std::int64_t table = 0;
  std::int64_t firstRow = 0;
  model::BlockInfo info;
  std::string ranges;
  std::int64_t payload = 0;      ///< id in store_payload
  std::int64_t priorBytes = 0;   ///< the payload begins with priors of so many bytes
  std::int64_t offset = 0;       ///< where in the payload the block begins
  std::int64_t bytes = 0;        ///< how many it takes there
  std::int64_t rawBytes = 0;     ///< once decompressed
  std::uint32_t bytesCrc32 = 0;  ///< of the priors, then of its own
};

std::uint32_t checksumOf(const BlockRecord& block);
std::uint32_t checksumOf(std::int64_t number, const std::string& name, const TableTotals& totals);
/// Of store_state's row.
std::uint32_t checksumOfState(const Totals& totals);

/// A row of store_payload and its blocks.
struct PreparedPayload {
  std::string bytes;
  std::vector<BlockRecord> blocks;
};

/// One commit's blocks, coded. Plain rows are written as they are.
class Batch {
 public:
  /// Codes the block rows of all sets, one after the other, and counts all rows into `totals`, whose copy is
  /// thrown away if the commit fails. Its LevelNodes are left out: those that `makeNodes` returns are
  /// written, sorted in their place; it runs while blocks are coded. `path` is for the sentence of a row that
  /// is too long.
  static base::Result<Batch> prepare(std::span<const model::RowSet> sets,
                                     const std::function<std::span<model::LevelNode>()>& makeNodes,
                                     BlockCoder& coder, const std::string& path, Totals& totals);

  /// Within a transaction: adds rows and blocks.
  base::Status write(Database& database) const;
  std::int64_t payloadBytes() const;

 private:
  model::RowSet rows_;  // the plain ones
  std::vector<PreparedPayload> payloads_;
};

/// Within a transaction: brings store_table up to date.
base::Status writeTables(Database& database, const Totals& totals);
/// Within a transaction: counts the commit, stamps it with the time and writes store_state's row.
base::Status writeState(Database& database, Totals& totals);

}  // namespace pipescope::store
