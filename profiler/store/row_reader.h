#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "profiler/base/result.h"
#include "profiler/store/batch.h"
#include "profiler/store/sqlite_database.h"

namespace pipescope::store {

/// A shared std::vector<Row> and about how much memory it takes.
struct DecodedRows {
  std::shared_ptr<const void> rows;
  std::size_t bytes = 0;
};

/// Reading a table whose row type is known by its number only. Errors (badInput) say what is wrong, not
/// where.
struct RowReader {
  std::vector<model::ColumnType> types;
  /// A plain table: its first `totals.rows` rows, checked against their checksum.
  base::Result<DecodedRows> (*readPlain)(Database& database, const TableTotals& totals) = nullptr;
  /// A block's rows out of its columns.
  base::Result<DecodedRows> (*toRows)(const DecodedBlock& block, std::size_t rows) = nullptr;
  /// Refuses columns with numbers that their fields cannot have.
  base::Status (*checkColumns)(const std::vector<ColumnData>& columns) = nullptr;
};

/// By table number.
const RowReader& rowReader(std::size_t table);

}  // namespace pipescope::store
