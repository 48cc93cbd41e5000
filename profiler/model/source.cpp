#include "profiler/model/source.h"

namespace pipescope::model {

base::Result<std::vector<ColumnRange>> ProfileSource::columnRanges(std::size_t table, std::size_t) const {
  return std::vector<ColumnRange>(tables()[table].columns.size());
}

namespace {

template <class Row>
ColumnBlock columnsOfRows(const std::vector<Row>& rows) {
  ColumnBlock block;
  block.rows = rows.size();
  std::vector<std::int64_t*> next;  // place of the next value of each column
  for (const Column& column : columnsOf<Row>()) {
    block.columns.emplace_back().values.resize(column.type == ColumnType::integer ? rows.size() : 0);
    next.push_back(block.columns.back().values.data());
  }
  for (const Row& row : rows) {
    std::size_t place = 0;
    Row::fields(row, [&](const char*, const auto& field, const char*, const char*) {
      const std::size_t column = place++;
      if constexpr (columnTypeOf<std::remove_cvref_t<decltype(field)>>() == ColumnType::integer)
        *next[column]++ = toInteger(field);
    });
  }
  return block;
}

/// Joins all blocks of a table in one vector.
template <class Row>
base::Result<Rows<Row>> joined(const ProfileSource& source, std::size_t blocks) {
  auto all = std::make_shared<std::vector<Row>>();
  for (std::size_t i = 0; i < blocks; ++i) {
    PIPESCOPE_ASSIGN(const Rows<Row> part, source.block<Row>(i));
    all->insert(all->end(), part->begin(), part->end());
  }
  return Rows<Row>(std::move(all));
}

/// Adds the table with this index to `rows`.
base::Status addTable(const ProfileSource& source, std::size_t table, RowSet& rows) {
  base::Status status;
  forEachRowType([&]<class Row>() {
    if (tableIndexOf<Row>() != table) return;
    const base::Result<Rows<Row>> read = source.rows<Row>();
    if (read.ok()) {
      rows.of<Row>() = **read;
    } else {
      status = read.error();
    }
  });
  return status;
}

}  // namespace

base::Result<std::shared_ptr<const void>> ProfileSource::whole(std::size_t table) const {
  PIPESCOPE_ASSIGN(const std::vector<BlockInfo> infos, directory(table));
  if (infos.size() == 1) return decode(table, 0);
  base::Result<std::shared_ptr<const void>> all = std::shared_ptr<const void>();
  forEachRowType([&]<class Row>() {
    if (tableIndexOf<Row>() != table) return;
    base::Result<Rows<Row>> rows = joined<Row>(*this, infos.size());
    if (rows.ok()) {
      all = std::shared_ptr<const void>(std::move(*rows));
    } else {
      all = rows.error();
    }
  });
  return all;
}

base::Result<RowSet> ProfileSource::table(std::size_t index) const {
  RowSet rows;
  PIPESCOPE_TRY(addTable(*this, index, rows));
  return rows;
}

base::Result<RowSet> ProfileSource::everything() const {
  RowSet rows;
  for (std::size_t table = 0; table < kTableCount; ++table) PIPESCOPE_TRY(addTable(*this, table, rows));
  return rows;
}

base::Result<std::shared_ptr<const ColumnBlock>> ProfileSource::integerColumns(std::size_t table,
                                                                               std::size_t block) const {
  PIPESCOPE_ASSIGN(const std::shared_ptr<const void> data, decode(table, block));
  std::shared_ptr<const ColumnBlock> columns;
  forEachRowType([&]<class Row>() {
    if (tableIndexOf<Row>() == table)
      columns = std::make_shared<const ColumnBlock>(
          columnsOfRows(*static_cast<const std::vector<Row>*>(data.get())));
  });
  return columns;
}

}  // namespace pipescope::model
