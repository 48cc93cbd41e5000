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
  block.columns.resize(columnsOf<Row>().size());
  for (const Row& row : rows) {
    std::size_t place = 0;
    Row::fields(row, [&](const char*, const auto& field, const char*, const char*) {
      IntegerColumn& column = block.columns[place++];
      if constexpr (columnTypeOf<std::remove_cvref_t<decltype(field)>>() == ColumnType::integer)
        column.values.push_back(toInteger(field));
    });
  }
  return block;
}

}  // namespace

base::Result<std::shared_ptr<const ColumnBlock>> ProfileSource::integerColumns(std::size_t table,
                                                                               std::size_t block) const {
  PIPESCOPE_ASSIGN(const std::shared_ptr<const void> data, decode(table, block));
  std::shared_ptr<const ColumnBlock> columns;
  forEachRowType([&]<class Row>() {
    if (tableIndexOf<Row>() == table)
      columns = std::make_shared<const ColumnBlock>(columnsOfRows(*static_cast<const std::vector<Row>*>(data.get())));
  });
  return columns;
}

}  // namespace pipescope::model
