#include "profiler/export/carried_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <concepts>

#include "profiler/export/carried_columns.h"
#include "profiler/export/json_text.h"

namespace pipescope::exporting {
namespace {

/// Rows of a piece. A reader holds a piece as a whole.
constexpr std::size_t kRowsOfPiece = 4096;

template <class Field>
constexpr bool kIsId = requires(Field field) {
  field.valid();
  { field.value } -> std::same_as<std::int64_t&>;
};

/// Where the number of an executable stands in the key of a property (see model::Property).
std::string_view executableIn(std::string_view key) {
  const std::size_t dot = key.find('.');
  if (dot == std::string_view::npos) return {};
  const std::string_view number = key.substr(dot + 1, key.find('.', dot + 1) - dot - 1);
  const bool digits =
      number.size() < 10 && std::ranges::all_of(number, [](char c) { return c >= '0' && c <= '9'; });
  return digits ? number : std::string_view();
}

/// The columns of some rows.
template <class Row>
class Columns {
 public:
  Columns() {
    for (const model::Column& column : model::columnsOf<Row>()) {
      if (column.type == model::ColumnType::integer) values_.emplace_back(std::vector<std::int64_t>());
      if (column.type == model::ColumnType::real) values_.emplace_back(std::vector<double>());
      if (column.type == model::ColumnType::text) values_.emplace_back(std::vector<std::string>());
    }
  }

  void add(const Row& row) {
    std::size_t at = 0;
    Row::fields(row, [&](const char*, const auto& field, const char*, const char*) {
      using Field = std::remove_cvref_t<decltype(field)>;
      ColumnValues& values = values_[at++];
      if constexpr (std::is_same_v<Field, std::string> || std::is_same_v<Field, double>) {
        std::get<std::vector<Field>>(values).push_back(field);
      } else {
        std::get<std::vector<std::int64_t>>(values).push_back(model::toInteger(field));
      }
    });
    ++size_;
  }
  std::size_t size() const { return size_; }

  /// Writes a piece and forgets the rows.
  std::string take() {
    const std::vector<model::Column> columns = model::columnsOf<Row>();
    // The first column is that of an id, if the rows have one.
    constexpr std::size_t kFirst = requires(Row row) {
      row.id.value;
    }
    ? 1 : 0;
    // A reader need not believe a number of rows for which nothing stands in the file.
    const bool needsArray = size_ > 1 && std::all_of(values_.begin() + kFirst, values_.end(), isConstant);
    std::string text = fmt::format("{{\"table\":\"{}\",\"rows\":{},\"columns\":{{", Row::kTable, size_);
    for (std::size_t i = kFirst; i < columns.size(); ++i) {
      if (i > kFirst) text += ',';
      text += jsonText(columns[i].name) + ':' + columnText(values_[i], needsArray && i == kFirst);
    }
    *this = Columns();
    return text + "}}";
  }

 private:
  std::vector<ColumnValues> values_;
  std::size_t size_ = 0;
};

}  // namespace

void CarriedRows::Kept::add(std::int64_t row) {
  if (!ranges_.empty() && row == ranges_.back().first + ranges_.back().count) {
    ++ranges_.back().count;
  } else {
    ranges_.push_back({row, 1, count_});
  }
  ++count_;
}

std::int64_t CarriedRows::Kept::numberOf(std::int64_t row) const {
  const auto after = std::partition_point(ranges_.begin(), ranges_.end(),
                                          [&](const Range& range) { return range.first <= row; });
  if (after == ranges_.begin()) return -1;
  const Range& range = *std::prev(after);
  return row < range.first + range.count ? range.number + row - range.first : -1;
}

template <class Id>
constexpr std::size_t CarriedRows::tableOf() {
  std::size_t table = model::kTableCount;
  model::forEachRowType([&]<class Row>() {
    if constexpr (hasId<Row>())
      if constexpr (std::is_same_v<decltype(Row::id), Id>) table = model::tableIndexOf<Row>();
  });
  return table;
}

template <class Row>
bool CarriedRows::wants(const Row& row) const {
  using namespace model;
  if constexpr (std::is_same_v<Row, Executable>) return row.id == request_.executable;
  if constexpr (requires { row.executable; })
    if (row.executable.valid() && row.executable != request_.executable) return false;
  if constexpr (std::is_same_v<Row, Placement>) return rows_.has(row.run) && keeps(row.segment);
  if constexpr (std::is_same_v<Row, Transfer> || std::is_same_v<Row, Wait>) return rows_.has(row.run);
  if constexpr (std::is_same_v<Row, Property>) {
    const std::string_view executable = executableIn(row.key);
    return executable.empty() || executable == std::to_string(request_.executable.value);
  }
  if constexpr (std::is_same_v<Row, CounterSample>)
    return keeps(row.counter) && (rows_.has(row.run) || ofWholeRun_.contains(row.counter));
  if constexpr (std::is_same_v<Row, Step> || std::is_same_v<Row, StepUnits>)
    return request_.steps && keeps(row.segment);
  if constexpr (requires { row.variable; }) return keeps(row.variable);
  return true;
}

template <class Row>
base::Status CarriedRows::findKept() {
  Kept& kept = kept_[model::tableIndexOf<Row>()];
  std::int64_t number = 0;
  return rows_.each<Row>([&](const Row& row) -> base::Status {
    if constexpr (hasId<Row>()) number = row.id.value;
    if (wants(row)) kept.add(number);
    if constexpr (std::is_same_v<Row, model::Counter>)
      if (!row.device.valid()) ofWholeRun_.insert(row.id);
    ++number;
    return {};
  });
}

template <class Row>
void CarriedRows::renumber(Row& row) const {
  Row::fields(row, [&](const char*, auto& field, const char*, const char*) {
    using Field = std::remove_cvref_t<decltype(field)>;
    if constexpr (kIsId<Field>) field = Field(kept_[tableOf<Field>()].numberOf(field.value));
  });
  if constexpr (std::is_same_v<Row, model::Property>)
    if (const std::string_view number = executableIn(row.key); !number.empty())
      row.key.replace(static_cast<std::size_t>(number.data() - row.key.data()), number.size(), "0");
  if constexpr (std::is_same_v<Row, model::StepUnits>)
    row.step = kept_[model::tableIndexOf<model::Step>()].numberOf(row.step);
}

template <class Row>
base::Status CarriedRows::writeTable(const Take& take) {
  Columns<Row> columns;
  const auto write = [&]() -> base::Status {
    ++pieces_;
    return take(columns.take());
  };
  PIPESCOPE_TRY(rows_.each<Row>([&](const Row& row) -> base::Status {
    if (!wants(row)) return {};
    Row own = row;
    renumber(own);
    columns.add(own);
    return columns.size() == kRowsOfPiece ? write() : base::Status();
  }));
  return columns.size() > 0 ? write() : base::Status();
}

base::Status CarriedRows::each(const Take& take) {
  base::Status status;
  model::forEachRowType([&]<class Row>() {
    if constexpr (hasId<Row>() || std::is_same_v<Row, model::Step>)
      if (status.ok()) status = findKept<Row>();
  });
  model::forEachRowType([&]<class Row>() {
    if constexpr (isCarried<Row>())
      if (status.ok()) status = writeTable<Row>(take);
  });
  return status;
}

std::string CarriedRows::end(std::int64_t events) const {
  return fmt::format("{{\"end\":{{\"pieces\":{},\"events\":{},\"state\":{},\"reason\":{}}}}}", pieces_,
                     events, static_cast<int>(request_.catalog.state.state),
                     jsonText(request_.catalog.state.reason));
}

}  // namespace pipescope::exporting
