#pragma once
#include <simdjson.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "profiler/model/columns.h"

namespace pipescope::importing {

/// A column of the rows that one piece of an export carries (see exporting::CarriedRows). If all rows have
/// the same value, the piece states it once, and isConstant is true.
struct CarriedColumn {
  std::variant<std::vector<std::int64_t>, std::vector<double>, std::vector<std::string_view>> values;
  bool isConstant = false;

  std::size_t size() const {
    return std::visit([](const auto& own) { return own.size(); }, values);
  }
  template <class Value>
  const Value& at(std::size_t row) const {
    const auto& own = std::get<std::vector<Value>>(values);
    return own[isConstant ? 0 : row];
  }
};

/// Reads a column. Nothing if it has values of another type, or is in no form that exports write.
std::optional<CarriedColumn> readCarriedColumn(simdjson::dom::element column, model::ColumnType type);
/// The name of the column that has the same values; empty: the column states its own.
std::string_view carriedLike(simdjson::dom::element column);
/// The values of another column as values of this type. Nothing if they cannot be.
std::optional<CarriedColumn> convertedColumn(const CarriedColumn& column, model::ColumnType type);

/// Rows of a piece are at most so many, because exports write short pieces.
constexpr std::size_t kMostCarriedRows = 1 << 16;
/// Ticks and bytes beyond this are of no run, and sums of them would overflow.
constexpr std::int64_t kMostCarriedAmount = std::int64_t{1} << 56;

/// True if a number can stand in the field.
template <class Field>
constexpr bool fitsField(std::int64_t number) {
  if constexpr (std::is_enum_v<Field>) {
    using Base = std::underlying_type_t<Field>;
    return number >= 0 && number <= std::numeric_limits<Base>::max();
  } else if constexpr (std::is_integral_v<Field>) {
    return number >= std::numeric_limits<Field>::min() && number <= std::numeric_limits<Field>::max();
  } else {
    return number >= -kMostCarriedAmount && number <= kMostCarriedAmount;
  }
}

/// The rows of a piece. Nothing if its columns are not those of the row, have different lengths, or hold
/// values that the fields cannot.
template <class Row>
std::optional<std::vector<Row>> readCarriedRows(simdjson::dom::object columns) {
  constexpr std::size_t kFirst = requires(Row row) {
    row.id.value;
  }
  ? 1 : 0;
  const std::vector<model::Column> wanted = model::columnsOf<Row>();
  if (columns.size() != wanted.size() - kFirst) return std::nullopt;
  std::vector<CarriedColumn> read(kFirst);
  std::size_t size = 1;
  for (std::size_t i = kFirst; i < wanted.size(); ++i) {
    simdjson::dom::element stated;
    if (columns[wanted[i].name].get(stated) != simdjson::SUCCESS) return std::nullopt;
    std::optional<CarriedColumn> column;
    if (const std::string_view like = carriedLike(stated); like.empty()) {
      column = readCarriedColumn(stated, wanted[i].type);
    } else {
      for (std::size_t before = kFirst; before < i && !column; ++before)
        if (like == wanted[before].name) column = convertedColumn(read[before], wanted[i].type);
    }
    if (!column) return std::nullopt;
    if (!column->isConstant) size = column->size();
    read.push_back(std::move(*column));
  }
  if (size == 0 || size > kMostCarriedRows) return std::nullopt;
  for (const CarriedColumn& column : read)
    if (&column >= read.data() + kFirst && column.size() != (column.isConstant ? 1 : size))
      return std::nullopt;
  std::vector<Row> rows(size);
  bool fits = true;
  for (std::size_t r = 0; r < size; ++r) {
    std::size_t at = 0;
    Row::fields(rows[r], [&](const char*, auto& field, const char*, const char*) {
      using Field = std::remove_cvref_t<decltype(field)>;
      const std::size_t own = at++;
      if (own < kFirst) return;
      if constexpr (std::is_same_v<Field, std::string>) {
        field = std::string(read[own].template at<std::string_view>(r));
      } else if constexpr (std::is_same_v<Field, double>) {
        field = read[own].template at<double>(r);
      } else {
        const std::int64_t number = read[own].template at<std::int64_t>(r);
        fits = fits && fitsField<Field>(number);
        if (fits) model::fromInteger(field, number);
      }
    });
  }
  return fits ? std::optional(std::move(rows)) : std::nullopt;
}

}  // namespace pipescope::importing
