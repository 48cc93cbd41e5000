#pragma once
// Derives the tables of a profile from its row types: their columns, their order and their storage.
#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "profiler/model/rows.h"

namespace pipescope::model {

enum class ColumnType { integer, real, text };

struct Column {
  const char* name;
  ColumnType type;
  const char* unit;
  const char* doc;
};

struct Table {
  const char* name;
  Storage storage;
  const char* doc;
  std::vector<Column> columns;
};

template <class Field>
constexpr ColumnType columnTypeOf() {
  if constexpr (std::is_same_v<Field, std::string>) {
    return ColumnType::text;
  } else if constexpr (std::is_same_v<Field, double>) {
    return ColumnType::real;
  } else {
    return ColumnType::integer;
  }
}

/// The integer that stores a field: the number of an enum, or the value of an id or quantity.
template <class Field>
constexpr std::int64_t toInteger(const Field& field) {
  if constexpr (std::is_enum_v<Field> || std::is_integral_v<Field>) {
    return static_cast<std::int64_t>(field);
  } else if constexpr (requires { field.count; }) {
    return field.count;
  } else {
    return field.value;
  }
}

template <class Field>
constexpr void fromInteger(Field& field, std::int64_t number) {
  if constexpr (std::is_enum_v<Field> || std::is_integral_v<Field>) {
    field = static_cast<Field>(number);
  } else {
    field = Field(number);
  }
}

template <class Row>
std::vector<Column> columnsOf() {
  std::vector<Column> columns;
  Row row;
  Row::fields(row, [&](const char* name, auto& field, const char* unit, const char* doc) {
    columns.push_back({name, columnTypeOf<std::remove_reference_t<decltype(field)>>(), unit, doc});
  });
  return columns;
}

namespace detail {
template <class Row, std::size_t... I>
constexpr std::size_t indexOf(std::index_sequence<I...>) {
  std::size_t index = sizeof...(I);
  ((std::is_same_v<Row, std::tuple_element_t<I, AllRows>> ? void(index = I) : void()), ...);
  return index;
}
template <class Tuple>
struct VectorsOf;
template <class... Rows>
struct VectorsOf<std::tuple<Rows...>> {
  using Type = std::tuple<std::vector<Rows>...>;
};
}  // namespace detail

inline constexpr std::size_t kTableCount = std::tuple_size_v<AllRows>;

template <class Row>
constexpr std::size_t tableIndexOf() {
  constexpr std::size_t index = detail::indexOf<Row>(std::make_index_sequence<kTableCount>());
  static_assert(index < kTableCount, "add the row type to AllRows");
  return index;
}

/// Calls visit.template operator()<Row>() for every row type, in table order.
template <class Visit>
void forEachRowType(Visit&& visit) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (visit.template operator()<std::tuple_element_t<I, AllRows>>(), ...);
  }
  (std::make_index_sequence<kTableCount>());
}

/// All tables with their columns, in table order.
const std::vector<Table>& tables();

/// Rows of all tables. A recorder passes them to a sink.
class RowSet {
 public:
  // columns.cpp defines these, so that the code for all the vectors is compiled only once.
  RowSet();
  RowSet(const RowSet&);
  RowSet(RowSet&&) noexcept;
  RowSet& operator=(const RowSet&);
  RowSet& operator=(RowSet&&) noexcept;
  ~RowSet();

  template <class Row>
  std::vector<Row>& of() {
    return std::get<std::vector<Row>>(rows_);
  }
  template <class Row>
  const std::vector<Row>& of() const {
    return std::get<std::vector<Row>>(rows_);
  }
  bool empty() const;
  std::size_t size() const;
  void clear();
  /// Appends the rows of `other`, table by table.
  void append(const RowSet& other);
  /// A RowSet with the rows of one table only.
  RowSet only(std::size_t table) const;

 private:
  detail::VectorsOf<AllRows>::Type rows_;
};

}  // namespace pipescope::model
