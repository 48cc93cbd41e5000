#include "profiler/export/csv.h"

#include <fmt/format.h>

#include <functional>
#include <memory>
#include <type_traits>
#include <vector>

namespace pipescope::exporting {
namespace {

void append(std::string& out, const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) {
    out += text;
    return;
  }
  out += '"';
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
}

/// Appends the fields of one row.
class CsvLine {
 public:
  explicit CsvLine(std::string& out) : out_(out) {}
  void text(const std::string& value) { append(next(), value); }
  void real(double value) { next() += fmt::format("{}", value); }
  void integer(std::int64_t value) { next() += std::to_string(value); }

 private:
  std::string& next() {
    if (!first_) out_ += ',';
    first_ = false;
    return out_;
  }
  std::string& out_;
  bool first_ = true;
};

/// The part of the export that depends on the row's type; the rest is compiled once.
template <class Row>
void appendRows(const void* data, std::string& out) {
  for (const Row& row : *static_cast<const std::vector<Row>*>(data)) {
    CsvLine line(out);
    Row::fields(row, [&](const char*, const auto& field, const char*, const char*) {
      using Field = std::remove_cvref_t<decltype(field)>;
      if constexpr (std::is_same_v<Field, std::string>) {
        line.text(field);
      } else if constexpr (std::is_same_v<Field, double>) {
        line.real(field);
      } else {
        line.integer(model::toInteger(field));
      }
      if constexpr (std::is_enum_v<Field>) line.text(model::toString(field));
    });
    out += "\r\n";
  }
}

/// The header. An enumeration has a second column with the name of its number.
template <class Row>
std::string csvHeader() {
  std::string text;
  const Row row;
  Row::fields(row, [&](const char* name, const auto& field, const char*, const char*) {
    text += (text.empty() ? "" : ",") + std::string(name);
    if constexpr (std::is_enum_v<std::remove_cvref_t<decltype(field)>>) text += fmt::format(",{}_name", name);
  });
  return text + "\r\n";
}

struct CsvTable {
  std::string header;
  std::function<base::Result<std::vector<model::BlockInfo>>()> blocks;
  std::function<base::Result<std::shared_ptr<const void>>(std::size_t)> block;
  void (*append)(const void*, std::string&);
};

template <class Row>
CsvTable tableOf(const model::ProfileSource& source) {
  return {csvHeader<Row>(), [&source] { return source.blocks<Row>(); },
          [&source](std::size_t index) -> base::Result<std::shared_ptr<const void>> {
            PIPESCOPE_ASSIGN(const model::Rows<Row> rows, source.block<Row>(index));
            return std::shared_ptr<const void>(rows);
          },
          appendRows<Row>};
}

base::Status writeTable(const model::Table& described, const CsvTable& table, const Writer& write,
                        base::Progress& progress) {
  std::string text = table.header;
  PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> blocks, table.blocks());
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    if (progress.cancelled()) return base::cancelled("Exporting was stopped.");
    progress.report(static_cast<double>(b) / static_cast<double>(blocks.size()),
                    std::string("exporting ") + described.name);
    PIPESCOPE_ASSIGN(const std::shared_ptr<const void> rows, table.block(b));
    table.append(rows.get(), text);
    PIPESCOPE_TRY(write(text));
    text.clear();
  }
  return text.empty() ? base::Status() : write(text);
}

}  // namespace

base::Status exportCsv(const model::ProfileSource& source, const std::string& table, const Writer& write,
                       base::Progress& progress) {
  std::string known;
  bool found = false;
  base::Status status;
  model::forEachRowType([&]<class Row>() {
    known += (known.empty() ? "" : ", ") + std::string(Row::kTable);
    if (table != Row::kTable) return;
    found = true;
    status = writeTable(model::tables()[model::tableIndexOf<Row>()], tableOf<Row>(source), write, progress);
  });
  if (!found)
    return base::badInput(fmt::format("A profile has no table \"{}\". Its tables are {}.", table, known));
  return status;
}

}  // namespace pipescope::exporting
