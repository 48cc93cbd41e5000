#include "views/pages/parts/data/operation_tables.h"

#include <QStringList>
#include <algorithm>

#include "views/pages/parts/data/section_lookup.h"
#include "views/pages/parts/data/text.h"

namespace pipescope::pages {
namespace {

using sections::Format;

/// Columns that a table hides until its menu shows them.
const std::set<std::string> kHiddenOperationColumns = {
    "compute_cycles",   "exchange_cycles", "sync_cycles",   "other_cycles",
    "flops_per_second", "operand_bytes",   "flop_per_byte", "exchanged_bytes",
    "programs",         "layer",           "block",         "call_cycles"};

/// True if no row has a value, such as a pass, or code and FLOP on devices without them.
bool isEmptyColumn(const sections::SectionTable& table, std::size_t column) {
  const Format format = table.columns[column].format;
  return (format == Format::ticks || format == Format::bytes || format == Format::amount) &&
         std::ranges::all_of(table.rows, [column](const auto& row) { return numberIn(row[column]) == 0; });
}

std::size_t placeOfColumn(const sections::SectionTable& table, const char* key) {
  return static_cast<std::size_t>(std::ranges::find(table.columns, key, &sections::SectionColumn::key) -
                                  table.columns.begin());
}

}  // namespace

std::set<std::string> hiddenOperationColumns(const sections::SectionTable& table) {
  std::set<std::string> hidden;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    if (kHiddenOperationColumns.contains(table.columns[c].key) || isEmptyColumn(table, c))
      hidden.insert(table.columns[c].key);
  }
  return hidden;
}

bool isOperationTreeColumn(const sections::SectionTable& table, std::size_t column) {
  const sections::SectionColumn& own = table.columns[column];
  const bool plain = column > 0 && own.format == Format::plain && own.key != "kind";
  const bool empty = std::ranges::none_of(
      table.rows, [column](const auto& row) { return !std::holds_alternative<std::monostate>(row[column]); });
  return !kHiddenOperationColumns.contains(own.key) && !plain && !empty && !isEmptyColumn(table, column);
}

int operationLike(const sections::SectionTable& table, const sections::SectionTable& other, int row) {
  const auto sameIn = [&](const auto& own, const char* key) {
    const std::size_t here = placeOfColumn(table, key), there = placeOfColumn(other, key);
    if (there == other.columns.size() || here == table.columns.size()) return true;
    return own[here] == other.rows[static_cast<std::size_t>(row)][there];
  };
  const auto found = std::ranges::find_if(table.rows, [&](const auto& own) {
    return sameIn(own, "name") && sameIn(own, "kind") && sameIn(own, "pass");
  });
  return found == table.rows.end() ? -1 : static_cast<int>(found - table.rows.begin());
}

QString operationTotals(const sections::SectionTable& table, const std::vector<int>& rows,
                        const sections::Section& section) {
  QStringList parts;
  for (const char* key : {"cycles", "share", "flops", "code_bytes", "always_live_bytes"}) {
    const std::size_t c = placeOfColumn(table, key);
    if (c == table.columns.size()) continue;
    double sum = 0;
    for (const int row : rows) sum += numberIn(table.rows[static_cast<std::size_t>(row)][c]);
    const sections::SectionColumn& column = table.columns[c];
    if (sum == 0) continue;
    parts << QStringLiteral("%1 %2").arg(column.format == Format::ticks ? tr("Time") : text(column.heading),
                                         text(factText(section, {"", "", sum, column.format, ""})));
  }
  const QString sums = parts.join(QStringLiteral(" · "));
  const auto count = static_cast<int>(rows.size());
  return count == 1 ? tr("The row shown: %1").arg(sums)
                    : tr("Sum of the %1 rows shown: %2").arg(groupedCount(count), sums);
}

}  // namespace pipescope::pages
