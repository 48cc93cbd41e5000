#include "profiler/store/row_reader.h"

#include <fmt/format.h>

#include <bit>
#include <limits>
#include <type_traits>
#include <utility>

#include "profiler/store/blocks/row_columns.h"

namespace pipescope::store {
namespace {

bool readField(const Statement& row, int column, std::string& field) {
  field = row.text(column);
  return row.type(column) == SQLITE_TEXT;
}

bool readField(const Statement& row, int column, double& field) {
  const int type = row.type(column);
  field = type == SQLITE_NULL ? std::numeric_limits<double>::quiet_NaN() : row.real(column);
  return type == SQLITE_NULL || type == SQLITE_FLOAT || type == SQLITE_INTEGER;
}

template <class Field>
bool readField(const Statement& row, int column, Field& field) {
  const std::int64_t number = row.integer(column);
  model::fromInteger(field, number);
  return row.type(column) == SQLITE_INTEGER && fitsField<Field>(number);
}

/// Reads the columns that the file has. The others keep their defaults.
template <class Row>
bool readRow(const Statement& statement, Row& row) {
  int column = 0;
  bool valid = true;
  Row::fields(row, [&](const char*, auto& field, const char*, const char*) {
    if (column < statement.columns()) valid = readField(statement, column++, field) && valid;
  });
  return valid;
}

/// Adds the columns from `first` on, which only a newer minor knows, to the checksum.
void addUnknownColumns(const Statement& row, int first, Checksum& checksum) {
  for (int column = first; column < row.columns(); ++column) {
    switch (row.type(column)) {
      case SQLITE_INTEGER:
        checksum.integer(row.integer(column));
        break;
      case SQLITE_FLOAT:
        checksum.real(row.real(column));
        break;
      case SQLITE_NULL:
        checksum.real(std::numeric_limits<double>::quiet_NaN());
        break;
      default:
        checksum.text(row.text(column));
    }
  }
}

template <class Row>
DecodedRows share(std::vector<Row>&& rows) {
  const std::size_t bytes = memoryOf(rows);
  return {std::make_shared<const std::vector<Row>>(std::move(rows)), bytes};
}

template <class Row>
base::Result<DecodedRows> readPlain(Database& database, const TableTotals& totals) {
  PIPESCOPE_ASSIGN(Statement select,
                   database.prepare(selectStatement(model::tables()[model::tableIndexOf<Row>()]),
                                    std::string("reading table ") + Row::kTable));
  select.bind(1, totals.rows);
  std::vector<Row> rows;
  Checksum checksum;
  // The file holds every text at least once. More text than the length of the file is damage or an attack.
  std::size_t textBytes = 0;
  const auto fileSize = static_cast<std::size_t>(database.fileSize());
  for (;;) {
    PIPESCOPE_ASSIGN(const bool found, select.step());
    if (!found) break;
    Row& row = rows.emplace_back();
    const bool valid = readRow(select, row);
    textBytes += textBytesOf(row);
    if (!valid || textBytes > fileSize)
      return base::badInput(fmt::format("row {} is damaged", rows.size() - 1));
    addToChecksum(row, checksum, select.columns());
    addUnknownColumns(select, static_cast<int>(model::columnsOf<Row>().size()), checksum);
  }
  if (static_cast<std::int64_t>(rows.size()) != totals.rows) {
    return base::badInput(fmt::format("it holds {} of its {} rows", rows.size(), totals.rows));
  }
  if (checksum.value() != totals.rowsCrc32)
    return base::badInput("its rows do not agree with their checksum");
  return share(std::move(rows));
}

base::Error impossibleNumber() {
  return base::badInput("it holds a number that its column cannot have");
}

template <class Row>
base::Result<DecodedRows> rowsOfBlock(const DecodedBlock& block, std::size_t count) {
  std::vector<Row> rows;
  if (!toRows(block.columns, count, rows)) return impossibleNumber();
  return share(std::move(rows));
}

template <class Row>
base::Status checkColumns(const std::vector<ColumnData>& columns) {
  return fitFields<Row>(columns) ? base::Status() : impossibleNumber();
}

template <class Row>
std::vector<std::int64_t> defaultsOf() {
  std::vector<std::int64_t> defaults;
  const Row row;
  Row::fields(row, [&](const char*, const auto& field, const char*, const char*) {
    if constexpr (std::is_same_v<decltype(field), const std::string&>) {
      defaults.push_back(0);
    } else if constexpr (std::is_same_v<decltype(field), const double&>) {
      defaults.push_back(std::bit_cast<std::int64_t>(field));
    } else {
      defaults.push_back(model::toInteger(field));
    }
  });
  return defaults;
}

std::vector<RowReader> makeReaders() {
  std::vector<RowReader> readers;
  model::forEachRowType([&]<class Row>() {
    RowReader& reader = readers.emplace_back();
    reader.types = columnTypesOf<Row>();
    reader.defaults = defaultsOf<Row>();
    if constexpr (Row::kStorage == model::Storage::plain) {
      reader.readPlain = &readPlain<Row>;
    } else {
      reader.toRows = &rowsOfBlock<Row>;
      reader.checkColumns = &checkColumns<Row>;
    }
  });
  return readers;
}

}  // namespace

const RowReader& rowReader(std::size_t table) {
  static const std::vector<RowReader> readers = makeReaders();
  return readers[table];
}

}  // namespace pipescope::store
