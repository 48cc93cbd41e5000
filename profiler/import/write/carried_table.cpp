#include "profiler/import/write/carried_table.h"

namespace pipescope::importing {
namespace {

namespace dom = simdjson::dom;

bool read(dom::element value, std::int64_t& number) {
  return value.get(number) == simdjson::SUCCESS;
}
bool read(dom::element value, std::string_view& text) {
  return value.get(text) == simdjson::SUCCESS;
}
bool read(dom::element value, double& number) {
  if (value.get(number) == simdjson::SUCCESS) return true;
  std::string_view text;
  if (value.get(text) != simdjson::SUCCESS) return false;
  using Limits = std::numeric_limits<double>;
  number = text == "nan" ? Limits::quiet_NaN() : text == "inf" ? Limits::infinity() : -Limits::infinity();
  return text == "nan" || text == "inf" || text == "-inf";
}

template <class Value>
std::optional<std::vector<Value>> readList(dom::element list) {
  dom::array array;
  if (list.get(array) != simdjson::SUCCESS) return std::nullopt;
  std::vector<Value> values;
  for (const dom::element element : array)
    if (!read(element, values.emplace_back())) return std::nullopt;
  return values;
}

/// A column in a form that its type has besides the plain list.
std::optional<std::vector<std::int64_t>> readPacked(dom::element column, std::int64_t) {
  dom::element differences;
  if (column["differences"].get(differences) != simdjson::SUCCESS) return std::nullopt;
  auto values = readList<std::int64_t>(differences);
  if (!values) return std::nullopt;
  std::uint64_t sum = 0;
  for (std::int64_t& value : *values) {
    sum += static_cast<std::uint64_t>(value);
    value = static_cast<std::int64_t>(sum);
  }
  return values;
}

std::optional<std::vector<std::string_view>> readPacked(dom::element column, std::string_view) {
  dom::element stated, places;
  if (column["texts"].get(stated) != simdjson::SUCCESS || column["indices"].get(places) != simdjson::SUCCESS)
    return std::nullopt;
  const auto texts = readList<std::string_view>(stated);
  const auto indices = readList<std::int64_t>(places);
  if (!texts || !indices) return std::nullopt;
  std::vector<std::string_view> values;
  for (const std::int64_t index : *indices) {
    if (index < 0 || static_cast<std::size_t>(index) >= texts->size()) return std::nullopt;
    values.push_back((*texts)[static_cast<std::size_t>(index)]);
  }
  return values;
}

std::optional<std::vector<double>> readPacked(dom::element, double) {
  return std::nullopt;
}

template <class Value>
std::optional<CarriedColumn> readAs(dom::element column) {
  if (column.is_array() || column.is_object()) {
    auto values = column.is_array() ? readList<Value>(column) : readPacked(column, Value());
    if (!values) return std::nullopt;
    return CarriedColumn{std::move(*values), false};
  }
  Value value{};
  if (!read(column, value)) return std::nullopt;
  return CarriedColumn{std::vector<Value>{value}, true};
}

}  // namespace

std::optional<CarriedColumn> readCarriedColumn(dom::element column, model::ColumnType type) {
  switch (type) {
    case model::ColumnType::integer:
      return readAs<std::int64_t>(column);
    case model::ColumnType::real:
      return readAs<double>(column);
    case model::ColumnType::text:
      return readAs<std::string_view>(column);
  }
  return std::nullopt;
}

std::string_view carriedLike(dom::element column) {
  std::string_view name;
  const bool stated = column.is_object() && column["column"].get(name) == simdjson::SUCCESS;
  return stated ? name : std::string_view();
}

std::optional<CarriedColumn> convertedColumn(const CarriedColumn& column, model::ColumnType type) {
  const bool fits = column.values.index() == static_cast<std::size_t>(type);
  if (fits) return column;
  const auto* whole = std::get_if<std::vector<std::int64_t>>(&column.values);
  if (whole == nullptr || type != model::ColumnType::real) return std::nullopt;
  return CarriedColumn{std::vector<double>(whole->begin(), whole->end()), column.isConstant};
}

}  // namespace pipescope::importing
