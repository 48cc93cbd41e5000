#pragma once
// Conversions between rows and columns and between rows and SQL. They are generic over the declarations in
// profiler/model.
#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "profiler/base/prefetch.h"
#include "profiler/model/source.h"
#include "profiler/store/blocks/checksum.h"
#include "profiler/store/blocks/column_codec.h"
#include "profiler/store/sqlite_database.h"

namespace pipescope::store {

/// True if the number is a value of the type of the field. A file may hold any number.
template <class Field>
constexpr bool fitsField(std::int64_t number) {
  if constexpr (std::is_same_v<Field, bool>) {
    return number == 0 || number == 1;
  } else if constexpr (std::is_enum_v<Field>) {
    return fitsField<std::underlying_type_t<Field>>(number);
  } else if constexpr (std::is_integral_v<Field> && sizeof(Field) < sizeof(std::int64_t)) {
    return number >= std::int64_t{std::numeric_limits<Field>::min()} &&
           number <= std::int64_t{std::numeric_limits<Field>::max()};
  } else {
    return true;
  }
}

template <class Row>
std::vector<model::ColumnType> columnTypesOf() {
  std::vector<model::ColumnType> types;
  for (const model::Column& column : model::columnsOf<Row>()) types.push_back(column.type);
  return types;
}

/// Binds the fields of a row to the parameters of an INSERT, in order, from behind `parameter` on. Returns
/// the last parameter.
template <class Row>
int bindRow(Statement& statement, const Row& row, int parameter = 0) {
  Row::fields(row, [&](const char*, const auto& field, const char*, const char*) {
    ++parameter;
    if constexpr (std::is_same_v<decltype(field), const std::string&>) {
      statement.bindText(parameter, field);
    } else if constexpr (std::is_same_v<decltype(field), const double&>) {
      statement.bindReal(parameter, canonical(field));
    } else {
      statement.bind(parameter, model::toInteger(field));
    }
  });
  return parameter;
}

/// Adds the numbers of some rows to a column. The column stays a single number as long as all are equal.
inline void addNumbers(std::span<const std::int64_t> numbers, std::size_t rowsBefore, ColumnData& column) {
  const Extremes these = extremesOf(numbers);
  Extremes& all = *column.extremes;
  if (rowsBefore == 0) all = these;
  all = {std::min(all.smallest, these.smallest), std::max(all.largest, these.largest)};
  if (all.smallest == all.largest) return column.integers.assign(1, all.smallest);
  if (column.constant) column.integers.assign(rowsBefore, rowsBefore == 0 ? 0 : column.integers.front());
  column.constant = false;
  column.integers.insert(column.integers.end(), numbers.begin(), numbers.end());
}

/// Fills `columns`, whose memory is used again, with the columns of some rows. Texts point into the rows.
template <class Row>
void toColumns(std::span<const Row> rows, std::vector<ColumnData>& columns) {
  static const std::vector<model::ColumnType> types = columnTypesOf<Row>();
  columns.resize(types.size());
  for (std::size_t c = 0; c < types.size(); ++c) {
    ColumnData& column = columns[c];
    column.type = types[c];
    column.constant = types[c] == model::ColumnType::integer && !rows.empty();
    column.extremes =
        types[c] == model::ColumnType::integer ? std::optional<Extremes>(Extremes()) : std::nullopt;
    column.integers.clear();
    column.reals.resize(types[c] == model::ColumnType::real ? rows.size() : 0);
    column.texts.resize(types[c] == model::ColumnType::text ? rows.size() : 0);
  }
  // The number of rows fits the innermost cache. The loop goes row by row, because compilers use the stack if
  // it takes one field of many rows at a time.
  constexpr std::size_t kRowsAtOnce = 256, kMostColumns = 32;
  std::array<std::array<std::int64_t, kRowsAtOnce>, kMostColumns> numbers;
  PIPESCOPE_CHECK(types.size() <= kMostColumns, "room for all columns of a row");
  for (std::size_t first = 0; first < rows.size(); first += kRowsAtOnce) {
    const std::size_t count = std::min(kRowsAtOnce, rows.size() - first);
    for (std::size_t i = 0; i < count; ++i) {
      std::size_t place = 0;
      base::prefetch(rows, first + i);
      Row::fields(rows[first + i], [&](const char*, const auto& field, const char*, const char*) {
        using Field = std::remove_cvref_t<decltype(field)>;
        const std::size_t c = place++;
        if constexpr (std::is_same_v<Field, std::string>) {
          columns[c].texts[first + i] = field;
        } else if constexpr (std::is_same_v<Field, double>) {
          columns[c].reals[first + i] = field;
        } else {
          numbers[c][i] = model::toInteger(field);
        }
      });
    }
    for (std::size_t c = 0; c < columns.size(); ++c) {
      if (types[c] == model::ColumnType::integer)
        addNumbers(std::span(numbers[c]).first(count), first, columns[c]);
    }
  }
}
template <class Row>
std::vector<ColumnData> toColumns(std::span<const Row> rows) {
  std::vector<ColumnData> columns;
  toColumns(rows, columns);
  return columns;
}

/// True if all integers are values of the types of their fields.
template <class Row>
bool fitFields(const std::vector<ColumnData>& columns) {
  bool fits = true;
  std::size_t place = 0;
  Row row;
  Row::fields(row, [&](const char*, auto& field, const char*, const char*) {
    using Field = std::remove_reference_t<decltype(field)>;
    const ColumnData& column = columns[place++];
    if constexpr (!std::is_same_v<Field, std::string> && !std::is_same_v<Field, double>) {
      if constexpr (fitsField<Field>(std::numeric_limits<std::int64_t>::max())) return;
      const auto [smallest, largest] = extremesOf(column);
      fits = fits && fitsField<Field>(smallest) && fitsField<Field>(largest);
    }
  });
  return fits;
}

/// Makes rows from columns. Returns false if a number is outside the type of its field.
template <class Row>
bool toRows(const std::vector<ColumnData>& columns, std::size_t count, std::vector<Row>& rows) {
  if (!fitFields<Row>(columns)) return false;
  rows.resize(count);
  std::vector<IntegerView> integers;
  for (const ColumnData& column : columns) integers.emplace_back(column);
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t place = 0;
    Row::fields(rows[i], [&](const char*, auto& field, const char*, const char*) {
      using Field = std::remove_reference_t<decltype(field)>;
      const std::size_t c = place++;
      if constexpr (std::is_same_v<Field, std::string>) {
        field = columns[c].texts[i];
      } else if constexpr (std::is_same_v<Field, double>) {
        field = columns[c].reals[i];
      } else {
        model::fromInteger(field, integers[c][i]);
      }
    });
  }
  return true;
}

/// Row count and time range. Rows with a start and an end, or with a time, have a range.
template <class Row>
model::BlockInfo describe(std::span<const Row> rows) {
  model::BlockInfo info;
  info.rows = static_cast<std::int64_t>(rows.size());
  const auto include = [&info](model::Ticks start, model::Ticks end) {
    info.start = info.hasTime ? std::min(info.start, start) : start;
    info.end = info.hasTime ? std::max(info.end, end) : end;
    info.hasTime = true;
  };
  for (const Row& row : rows) {
    if constexpr (requires { row.start, row.end; }) {
      include(row.start, row.end);
    } else if constexpr (requires { row.time; }) {
      include(row.time, row.time);
    }
  }
  return info;
}

/// Adds the first `columns` fields of a row to the running checksum of a plain table.
template <class Row>
void addToChecksum(const Row& row, Checksum& checksum, int columns = std::numeric_limits<int>::max()) {
  Row::fields(row, [&](const char*, const auto& field, const char*, const char*) {
    if (columns-- <= 0) return;
    if constexpr (std::is_same_v<decltype(field), const std::string&>) {
      checksum.text(field);
    } else if constexpr (std::is_same_v<decltype(field), const double&>) {
      checksum.real(field);
    } else {
      checksum.integer(model::toInteger(field));
    }
  });
}

template <class Row>
std::size_t textBytesOf(const Row& row) {
  std::size_t bytes = 0;
  Row::fields(row, [&](const char*, const auto& field, const char*, const char*) {
    if constexpr (std::is_same_v<decltype(field), const std::string&>) bytes += field.size();
  });
  return bytes;
}

template <class Row>
std::size_t textBytesOfAll(std::span<const Row> rows) {
  std::size_t bytes = 0;
  for (const Row& row : rows) bytes += textBytesOf(row);
  return bytes;
}

/// Approximate memory of the rows in bytes.
template <class Row>
std::size_t memoryOf(const std::vector<Row>& rows) {
  return sizeof(rows) + rows.size() * sizeof(Row) + textBytesOfAll(std::span<const Row>(rows));
}

}  // namespace pipescope::store
