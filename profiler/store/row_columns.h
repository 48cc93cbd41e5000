#pragma once
// Between rows and columns, and between rows and SQL: all generic over the declarations in profiler/model.
#include <algorithm>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "profiler/model/source.h"
#include "profiler/store/checksum.h"
#include "profiler/store/column_codec.h"
#include "profiler/store/sqlite_database.h"

namespace pipescope::store {

/// True where the number is a value of the field's type: a file may hold any.
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

/// Binds a row's fields to the parameters of an INSERT, in order.
template <class Row>
void bindRow(Statement& statement, const Row& row) {
  int parameter = 0;
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
}

/// The columns of some rows; texts are borrowed from them.
template <class Row>
std::vector<ColumnData> toColumns(std::span<const Row> rows) {
  std::vector<ColumnData> columns;
  for (const model::ColumnType type : columnTypesOf<Row>()) {
    ColumnData& column = columns.emplace_back();
    column.type = type;
    if (type == model::ColumnType::integer) column.integers.resize(rows.size());
    if (type == model::ColumnType::real) column.reals.resize(rows.size());
    if (type == model::ColumnType::text) column.texts.resize(rows.size());
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::size_t place = 0;
    Row::fields(rows[i], [&](const char*, const auto& field, const char*, const char*) {
      ColumnData& column = columns[place++];
      if constexpr (std::is_same_v<decltype(field), const std::string&>) {
        column.texts[i] = field;
      } else if constexpr (std::is_same_v<decltype(field), const double&>) {
        column.reals[i] = field;
      } else {
        column.integers[i] = model::toInteger(field);
      }
    });
  }
  return columns;
}

/// The rows of some columns. False: a number is outside its field's type.
template <class Row>
bool toRows(const std::vector<ColumnData>& columns, std::size_t count, std::vector<Row>& rows) {
  rows.resize(count);
  bool fits = true;
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t place = 0;
    Row::fields(rows[i], [&](const char*, auto& field, const char*, const char*) {
      using Field = std::remove_reference_t<decltype(field)>;
      const ColumnData& column = columns[place++];
      if constexpr (std::is_same_v<Field, std::string>) {
        field = column.texts[i];
      } else if constexpr (std::is_same_v<Field, double>) {
        field = column.reals[i];
      } else {
        fits = fits && fitsField<Field>(column.integers[i]);
        model::fromInteger(field, column.integers[i]);
      }
    });
  }
  return fits;
}

/// Row count and time range. Rows with start and end, or with a time, have one.
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

/// Adds a row to a plain table's running checksum.
template <class Row>
void addToChecksum(const Row& row, Checksum& checksum) {
  Row::fields(row, [&](const char*, const auto& field, const char*, const char*) {
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

/// About how much memory the rows take.
template <class Row>
std::size_t memoryOf(const std::vector<Row>& rows) {
  std::size_t bytes = sizeof(rows) + rows.size() * sizeof(Row);
  for (const Row& row : rows) bytes += textBytesOf(row);
  return bytes;
}

}  // namespace pipescope::store
