#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "profiler/base/result.h"
#include "profiler/store/batch.h"
#include "profiler/store/sqlite_database.h"

namespace pipescope::store {

/// A shared std::vector<Row> and its approximate memory.
struct DecodedRows {
  std::shared_ptr<const void> rows;
  std::size_t bytes = 0;
};

/// Reads a table whose row type is only known by its number. Errors (badInput) say what is wrong, but not
/// where.
struct RowReader {
  std::vector<model::ColumnType> types;
  /// The values of a new row: integers, or the bits of reals. Files of older minors lack the last columns.
  std::vector<std::int64_t> defaults;
  /// Reads the first `totals.rows` rows of a plain table and compares them with their checksum.
  base::Result<DecodedRows> (*readPlain)(Database& database, const TableTotals& totals) = nullptr;
  /// Makes the rows of a block from its columns.
  base::Result<DecodedRows> (*toRows)(const DecodedBlock& block, std::size_t rows) = nullptr;
  /// Fails if a column has a number that its field cannot have.
  base::Status (*checkColumns)(const std::vector<ColumnData>& columns) = nullptr;
};

/// The reader of a table, by its number.
const RowReader& rowReader(std::size_t table);

}  // namespace pipescope::store
