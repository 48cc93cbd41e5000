#include <fmt/format.h>

#include "profiler/export/export.h"

namespace pipescope::analysis {
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

template <class Row>
base::Status writeTable(const model::ProfileSource& source, const Writer& write, base::Progress& progress) {
  std::string text;
  for (const model::Column& column : model::columnsOf<Row>())
    text += (text.empty() ? "" : ",") + std::string(column.name);
  text += "\r\n";
  PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> blocks, source.blocks<Row>());
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    if (progress.cancelled()) return base::cancelled("Exporting was stopped.");
    progress.report(static_cast<double>(b) / static_cast<double>(blocks.size()),
                    std::string("exporting ") + Row::kTable);
    PIPESCOPE_ASSIGN(const model::Rows<Row> rows, source.block<Row>(b));
    for (const Row& row : *rows) {
      bool first = true;
      Row::fields(row, [&](const char*, const auto& field, const char*, const char*) {
        if (!first) text += ',';
        first = false;
        using Field = std::remove_cvref_t<decltype(field)>;
        if constexpr (std::is_same_v<Field, std::string>) {
          append(text, field);
        } else if constexpr (std::is_same_v<Field, double>) {
          text += fmt::format("{}", field);
        } else {
          text += std::to_string(model::toInteger(field));
        }
      });
      text += "\r\n";
    }
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
    status = writeTable<Row>(source, write, progress);
  });
  if (!found)
    return base::badInput(fmt::format("A profile has no table \"{}\"; known are {}.", table, known));
  return status;
}

}  // namespace pipescope::analysis
