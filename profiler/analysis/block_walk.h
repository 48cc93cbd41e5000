#pragma once
// Reads a table block by block. It skips blocks that cannot hold the wanted rows and can stop between blocks.
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <vector>

#include "profiler/base/check.h"
#include "profiler/base/progress.h"
#include "profiler/base/result.h"
#include "profiler/model/source.h"

namespace pipescope::analysis {

/// The index of a column within its row, by the column's name.
template <class Row>
std::size_t columnOf(std::string_view name) {
  const auto& columns = model::tables()[model::tableIndexOf<Row>()].columns;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].name == name) return i;
  }
  PIPESCOPE_CHECK(false, "no such column: " + std::string(name));
  return 0;
}

/// The error of a question that was cancelled; no error if it was not.
inline base::Status stopped(base::Progress& progress) {
  if (progress.cancelled()) return base::cancelled("The question was stopped.");
  return {};
}

/// False if no row of the block can overlap [from, to]. Blocks of rows without times may always overlap it.
inline bool mayMeet(const model::BlockInfo& block, base::Ticks from, base::Ticks to) {
  return block.rows > 0 && (!block.hasTime || (block.start <= to && block.end >= from));
}

/// The rows of a block, made one by one from its columns. All fields of the row type are integers.
template <class Row>
class RowsOfColumns {
 public:
  /// The block must outlive this object.
  explicit RowsOfColumns(const model::ColumnBlock& block) {
    for (const model::IntegerColumn& column : block.columns) {
      const bool constant = column.values.empty();
      columns_.push_back({constant ? &column.constant : column.values.data(), constant ? 0U : 1U});
    }
  }
  Row operator[](std::size_t index) const {
    Row row;
    const Column* column = columns_.data();
    Row::fields(row, [&](const char*, auto& field, const char*, const char*) {
      static_assert(model::columnTypeOf<std::remove_cvref_t<decltype(field)>>() ==
                    model::ColumnType::integer);
      model::fromInteger(field, column->first[column->step * index]);
      ++column;
    });
    return row;
  }

 private:
  struct Column {
    const std::int64_t* first;
    std::size_t step;  ///< 0: all rows have the same value
  };
  std::vector<Column> columns_;
};

/// Calls visit(row) for the rows of a block, in the form that the source reads sooner. Rows that are only
/// visited need no memory, and new memory costs more than decoding.
template <class Row, class Visit>
base::Status forEachRowOfBlock(const model::ProfileSource& source, std::size_t block, Visit&& visit) {
  if (source.storesColumns()) {
    PIPESCOPE_ASSIGN(const std::shared_ptr<const model::ColumnBlock> columns, source.columns<Row>(block));
    const RowsOfColumns<Row> rows(*columns);
    for (std::size_t i = 0; i < columns->rows; ++i) visit(rows[i]);
  } else {
    PIPESCOPE_ASSIGN(const model::Rows<Row> rows, source.block<Row>(block));
    for (const Row& row : *rows) visit(row);
  }
  return {};
}

/// Calls visit(row, index) for the rows of every block that `mayHold(info, ranges)` accepts, until visit
/// returns false. It skips damaged rows; `pipescope verify` names them.
template <class Row, class MayHold, class Visit>
base::Status forEachRow(const model::ProfileSource& source, base::Progress& progress, MayHold&& mayHold,
                        Visit&& visit) {
  PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> blocks, source.blocks<Row>());
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    PIPESCOPE_TRY(stopped(progress));
    if (blocks[b].rows == 0) continue;
    PIPESCOPE_ASSIGN(const std::vector<model::ColumnRange> ranges, source.ranges<Row>(b));
    if (!mayHold(blocks[b], ranges)) continue;
    PIPESCOPE_ASSIGN(const model::Rows<Row> rows, source.block<Row>(b));
    for (std::size_t i = 0; i < rows->size(); ++i) {
      if (!visit((*rows)[i], blocks[b].firstRow + static_cast<std::int64_t>(i))) return {};
    }
  }
  return {};
}

/// Calls visit(row) for every row of the table, block by block. It fails if rows are damaged, because a sum
/// over the remaining rows would be wrong without a warning.
template <class Row, class Visit>
base::Status forAllRows(const model::ProfileSource& source, Visit&& visit) {
  PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> blocks, source.blocks<Row>());
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    PIPESCOPE_ASSIGN(const model::Rows<Row> rows, source.block<Row>(b));
    for (const Row& row : *rows) visit(row);
  }
  return {};
}

/// Walks over blocks as forEachRow does, but calls visit(columns) once for every block that `mayHold`
/// accepts.
template <class Row, class MayHold, class Visit>
base::Status forEachColumnBlock(const model::ProfileSource& source, base::Progress& progress,
                                MayHold&& mayHold, Visit&& visit) {
  PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> blocks, source.blocks<Row>());
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    PIPESCOPE_TRY(stopped(progress));
    if (blocks[b].rows == 0) continue;
    PIPESCOPE_ASSIGN(const std::vector<model::ColumnRange> ranges, source.ranges<Row>(b));
    if (!mayHold(blocks[b], ranges)) continue;
    PIPESCOPE_ASSIGN(const std::shared_ptr<const model::ColumnBlock> columns, source.columns<Row>(b));
    visit(*columns);
  }
  return {};
}

}  // namespace pipescope::analysis
