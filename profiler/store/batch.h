#pragma once
// The rows of one commit. They are coded first and written afterwards, so that the transaction is short.
#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "profiler/base/result.h"
#include "profiler/model/source.h"
#include "profiler/store/blocks/block_coder.h"
#include "profiler/store/format.h"
#include "profiler/store/sqlite_database.h"
#include "profiler/store/writer_process.h"

namespace pipescope::store {

/// Totals of one table of a profile: a row of store_table.
struct TableTotals {
  std::int64_t rows = 0;
  std::int64_t blocks = 0;
  std::uint32_t rowsCrc32 = 0;  ///< running checksum of plain rows; 0 for blocks, which have their own
};

/// Totals of a profile: the tables store_table and store_state.
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
  std::int64_t priorBytes = 0;   ///< length of the priors at the beginning of the payload
  std::int64_t offset = 0;       ///< place in the payload at which the block begins
  std::int64_t bytes = 0;        ///< length of the block in the payload
  std::int64_t rawBytes = 0;     ///< length after decompression
  std::uint32_t bytesCrc32 = 0;  ///< checksum of the priors followed by the bytes of the block
};

/// Checksums of the rows that describe a block and a table.
std::uint32_t checksumOf(const BlockRecord& block);
std::uint32_t checksumOf(std::int64_t number, const std::string& name, const TableTotals& totals);
/// Checksum of the row of store_state.
std::uint32_t checksumOfState(const Totals& totals);

/// A row of store_payload and its blocks.
struct PreparedPayload {
  std::string bytes;
  std::vector<BlockRecord> blocks;
};

/// The coded blocks of one commit. Plain rows are not coded.
class CodedBatch {
 public:
  /// Codes the block rows of all sets in order, keeps the plain rows, and counts all rows into `totals`,
  /// which is a copy that the caller drops if the commit fails. LevelNodes in the sets are ignored.
  /// `makeNodes` runs while blocks are coded, and the nodes that it returns are sorted and written instead.
  /// `path` is for the error sentence about a row that is too long.
  static base::Result<CodedBatch> prepare(std::span<const model::RowSet> sets,
                                          const std::function<std::span<model::LevelNode>()>& makeNodes,
                                          BlockCoder& coder, const std::string& path, Totals& totals);
  /// The same, but takes the plain rows out of the sets instead of copying them.
  static base::Result<CodedBatch> prepare(std::span<model::RowSet> sets,
                                          const std::function<std::span<model::LevelNode>()>& makeNodes,
                                          BlockCoder& coder, const std::string& path, Totals& totals);

  /// Adds rows and blocks. Call it within a transaction.
  base::Status write(Database& database) const;
  std::int64_t payloadBytes() const;

 private:
  template <class Set>
  static base::Result<CodedBatch> prepareSets(std::span<Set> sets,
                                              const std::function<std::span<model::LevelNode>()>& makeNodes,
                                              BlockCoder& coder, const std::string& path, Totals& totals);

  model::RowSet rows_;  // plain rows only
  std::vector<PreparedPayload> payloads_;
};

/// Updates store_table. Call it within a transaction.
base::Status writeTables(Database& database, const Totals& totals);
/// Counts the commit, sets its time and writes the row of store_state. Call it within a transaction.
base::Status writeState(Database& database, Totals& totals);

}  // namespace pipescope::store
