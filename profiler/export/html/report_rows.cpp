#include "profiler/export/html/report_rows.h"

#include <algorithm>

#include "profiler/figures/figure.h"

namespace pipescope::exporting {

TableRows::TableRows(const sections::Section& section, std::string_view table) {
  const auto found = std::ranges::find(section.tables, table, &sections::SectionTable::key);
  table_ = found == section.tables.end() ? nullptr : &*found;
}

std::size_t TableRows::count() const {
  return table_ == nullptr ? 0 : table_->rows.size();
}

sections::Cell TableRows::cell(std::size_t row, std::string_view key) const {
  const auto column = std::ranges::find(table_->columns, key, &sections::SectionColumn::key);
  const auto place = static_cast<std::size_t>(column - table_->columns.begin());
  return place < table_->rows[row].size() ? table_->rows[row][place] : sections::Cell();
}

double TableRows::value(std::size_t row, std::string_view key) const {
  return figures::numberIn(cell(row, key)).value_or(0);
}

std::string TableRows::words(std::size_t row, std::string_view key) const {
  const sections::Cell found = cell(row, key);
  const auto* words = std::get_if<std::string>(&found);
  return words == nullptr ? std::string() : *words;
}

const bool* fitOf(const sections::Section& summary) {
  const auto fits = std::ranges::find(summary.facts, "fits", &sections::Fact::key);
  return fits == summary.facts.end() ? nullptr : std::get_if<bool>(&fits->value);
}

}  // namespace pipescope::exporting
