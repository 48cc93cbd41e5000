#include "views/pages/parts/layout/operation_details.h"

#include <QVBoxLayout>
#include <algorithm>
#include <numeric>

#include "profiler/sections/frame/column_text.h"
#include "views/pages/parts/data/debug_names.h"
#include "views/pages/parts/data/section_lookup.h"
#include "views/pages/parts/data/text.h"
#include "views/pages/parts/layout/facts.h"
#include "views/pages/parts/tables/data_table.h"

namespace pipescope::pages {
namespace {

using sections::Cell;
using sections::Format;
using sections::OperationRows;
using sections::SectionTable;

constexpr int kDetailRows = 11, kFactWidth = 250;
const std::vector<const char*> kProgramColumns = {"name",   "kind",         "pass",           "device",
                                                  "cycles", "tile_balance", "exchanged_bytes"};

const std::string& wordOf(const SectionTable& table, int row, std::size_t column) {
  static const std::string kNothing;
  const auto* word = std::get_if<std::string>(&table.rows[static_cast<std::size_t>(row)][column]);
  return word == nullptr ? kNothing : *word;
}

bool isBelow(const std::string& path, const std::string& prefix) {
  return path == prefix || path.starts_with(prefix + "/");
}

}  // namespace

void OperationsData::findFolding() {
  for (const OperationRows kind : {OperationRows::layers, OperationRows::blocks, OperationRows::operators})
    folding[static_cast<std::size_t>(kind)] = holds(kind) ? foldingOf(rows(kind)) : Folding();
}

OperationDetails::OperationDetails(const shell::Palette& palette, QWidget* parent) : QTabWidget(parent) {
  facts_ = new FactGrid(palette, this);
  facts_->setColumnWidth(kFactWidth);
  facts_->setComparable(true);
  auto* summary = new QWidget(this);
  auto* column = new QVBoxLayout(summary);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(10);
  parts_ = new DataTable(palette, summary);
  parts_->setComparable(false);
  column->addWidget(facts_);
  column->addWidget(parts_, 1);
  addTab(summary, tr("Summary"));
  const auto add = [&](const QString& name) {
    auto* table = new DataTable(palette, this);
    table->setFilterVisible(true);
    addTab(table, name);
    return table;
  };
  programs_ = add(tr("Programs"));
  code_ = add(tr("Code"));
  cycles_ = add(tr("Time"));
  flops_ = add(tr("FLOP"));
  names_ = add(tr("Debug"));
}

void OperationDetails::setData(std::shared_ptr<const OperationsData> content) {
  data_ = std::move(content);
}

void OperationDetails::showFacts(const ChosenOperations& chosen) {
  std::vector<ShownFact> facts;
  if (chosen.title.isEmpty()) {
    for (const sections::Fact& fact : data_->section.facts)
      facts.push_back({text(fact.label), text(factText(data_->section, fact)), text(fact.doc)});
    return facts_->setFacts(std::move(facts));
  }
  const SectionTable& table = data_->rows(chosen.kind);
  for (std::size_t c = 1; c < table.columns.size(); ++c) {
    const sections::SectionColumn& column = table.columns[c];
    const Cell& cell = chosen.cells[c];
    if (std::holds_alternative<std::monostate>(cell) || cell == Cell(std::string())) continue;
    facts.push_back({text(column.heading), text(factText(data_->section, {"", "", cell, column.format, ""})),
                     text(column.doc)});
  }
  facts_->setFacts(std::move(facts));
}

/// The names of the rows that are folded into the chosen one.
std::set<std::string> OperationDetails::foldedNames(const ChosenOperations& chosen) const {
  std::set<std::string> names;
  for (const int row : chosen.rows) names.insert(wordOf(data_->rows(chosen.kind), row, 0));
  return names;
}

std::vector<int> OperationDetails::operatorsOf(const ChosenOperations& chosen) const {
  const sections::OperatorList& operators = *data_->all.list;
  const auto idOf = [&](OperationRows kind, int row) {
    return data_->all.operators[static_cast<std::size_t>(kind)][static_cast<std::size_t>(row)];
  };
  const bool programs = chosen.kind == OperationRows::programs && chosen.prefix.empty() && chosen.row >= 0;
  const auto nameOf = [&](int row) -> const std::string& {
    const auto at = static_cast<std::size_t>(row);
    if (!chosen.prefix.empty()) return operators.layer(at);
    return chosen.kind == OperationRows::blocks  ? operators.block(at)
           : chosen.kind == OperationRows::kinds ? operators.kind(at)
                                                 : operators.layer(at);
  };
  const std::set<std::string> folded = foldedNames(chosen);
  const auto matches = [&](int row) {
    if (chosen.title.isEmpty()) return true;
    if (!chosen.rows.empty())
      return chosen.kind == OperationRows::operators ? chosen.rows.contains(row)
                                                     : folded.contains(nameOf(row));
    if (!chosen.prefix.empty()) return isBelow(nameOf(row), chosen.prefix);
    if (chosen.kind == OperationRows::operators) return row == chosen.row;
    if (programs) return idOf(OperationRows::operators, row) == idOf(OperationRows::programs, chosen.row);
    return nameOf(row) == chosen.name;
  };
  std::vector<int> rows;
  for (int i = 0; i < static_cast<int>(operators.size()); ++i) {
    if (matches(i)) rows.push_back(i);
  }
  return rows;
}

void OperationDetails::showPrograms(const ChosenOperations& chosen, const std::vector<int>& operators) {
  wantedPrograms_.reset();
  if (chosen.kind == OperationRows::programs && chosen.prefix.empty() && chosen.row >= 0) {
    return showRows(programs_, data_->rows(OperationRows::programs), {chosen.row}, tr("Programs"),
                    kProgramColumns);
  }
  SectionTable none = data_->rows(OperationRows::programs);
  none.rows.clear();
  const bool all = chosen.title.isEmpty();
  if (all || !operators.empty()) {
    none.basis = tr("Reading…").toStdString();
    wantedPrograms_.emplace();
    const auto& ids = data_->all.operators[static_cast<std::size_t>(OperationRows::operators)];
    if (!all)
      for (const int row : operators) wantedPrograms_->insert(ids[static_cast<std::size_t>(row)]);
  }
  showRows(programs_, none, {}, tr("Programs"), kProgramColumns);
}

void OperationDetails::setPrograms(const sections::LongestPrograms& programs) {
  wantedPrograms_.reset();
  std::vector<int> rows(programs.table.rows.size());
  std::iota(rows.begin(), rows.end(), 0);
  showRows(programs_, programs.table, rows, tr("Programs"), kProgramColumns, programs.count);
  programs_->setRowsShown(kDetailRows);
}

std::optional<std::set<model::OperatorId>> OperationDetails::wantedPrograms() const {
  return currentWidget() == programs_ ? wantedPrograms_ : std::nullopt;
}

void OperationDetails::showRows(DataTable* tab, const SectionTable& from, const std::vector<int>& rows,
                                const QString& title, const std::vector<const char*>& columns,
                                std::size_t count) {
  showRows(
      tab, from, [&](int row) { return from.rows[static_cast<std::size_t>(row)]; }, rows, title, columns,
      count);
}

void OperationDetails::showOperators(DataTable* tab, const std::vector<int>& rows, const QString& title,
                                     const std::vector<const char*>& columns) {
  showRows(
      tab, data_->rows(OperationRows::operators),
      [&](int row) { return data_->all.list->cells(static_cast<std::size_t>(row)); }, rows, title, columns,
      0);
}

/// `count`: of all rows of which `rows` are the longest; 0: there are no others.
void OperationDetails::showRows(DataTable* tab, const SectionTable& from,
                                const std::function<std::vector<Cell>(int)>& cellsOf,
                                const std::vector<int>& rows, const QString& title,
                                const std::vector<const char*>& columns, std::size_t count) {
  SectionTable table{from.key, title.toStdString(), from.basis, {}, {}};
  std::vector<std::size_t> places;
  for (const char* column : columns) {
    places.push_back(columnNamed(from, column));
    table.columns.push_back(from.columns[places.back()]);
    table.columns.back().inText = true;
  }
  // The rows are sorted, the longest first.
  const std::size_t shown = std::min(rows.size(), kMostRows), whole = std::max(count, rows.size());
  if (shown < whole)
    table.basis += "; the " + std::to_string(shown) + " longest of " +
                   formatCell(static_cast<std::int64_t>(whole), Format::count);
  for (std::size_t i = 0; i < shown; ++i) {
    std::vector<Cell> all = cellsOf(rows[i]);
    std::vector<Cell>& cells = table.rows.emplace_back();
    for (const std::size_t place : places) cells.push_back(std::move(all[place]));
  }
  sections::hideUnused(
      table, {"flops", "flops_per_second", "peak_share", "operand_bytes", "flop_per_byte", "tile_balance",
              "exchanged_bytes", "compute_cycles", "exchange_cycles", "sync_cycles", "other_cycles"});
  tab->setTable(std::move(table), data_->perUnit());
}

void OperationDetails::show(const ChosenOperations& chosen) {
  showFacts(chosen);
  const std::vector<int> operators = operatorsOf(chosen);
  // All operations are told apart by type, a selected one by what it consists of.
  const bool all = chosen.title.isEmpty();
  std::vector<int> kinds(data_->rows(OperationRows::kinds).rows.size());
  std::iota(kinds.begin(), kinds.end(), 0);
  if (all) {
    showRows(parts_, data_->rows(OperationRows::kinds), kinds, tr("By type"),
             {"name", "cycles", "share", "flops", "peak_share", "tile_balance"});
  } else {
    showOperators(parts_, operators, tr("Operators in it"), {"name", "pass", "device", "cycles", "share"});
  }
  showPrograms(chosen, operators);
  showOperators(cycles_, operators, tr("Time by operator and pass"),
                {"name", "pass", "device", "cycles", "compute_cycles", "exchange_cycles", "sync_cycles",
                 "other_cycles", "tile_balance"});
  showOperators(
      flops_, operators, tr("FLOP by operator and pass"),
      {"name", "pass", "flops", "flops_per_second", "peak_share", "operand_bytes", "flop_per_byte"});
  const SectionTable& code = data_->all.code[static_cast<std::size_t>(chosen.kind)];
  SectionTable shown{code.key, code.title, code.basis, code.columns, {}};
  shown.columns.front().inText = chosen.title.isEmpty() || !chosen.prefix.empty();
  const std::set<std::string> folded = foldedNames(chosen);
  for (std::size_t i = 0; i < code.rows.size() && shown.rows.size() < kMostRows; ++i) {
    const auto& row = code.rows[i];
    const std::string& name = wordOf(code, static_cast<int>(i), 0);
    const bool own =
        folded.contains(name) || (chosen.prefix.empty() ? name == chosen.name : isBelow(name, chosen.prefix));
    if (chosen.title.isEmpty() || own) shown.rows.push_back(row);
  }
  if (shown.rows.empty())
    shown.basis = chosen.kind == OperationRows::operators || chosen.kind == OperationRows::programs
                      ? "recorded for layers, blocks and types only"
                      : "this profile records no code here";
  code_->setTable(std::move(shown), data_->perUnit());
  setNames({});
  for (DataTable* table : {programs_, code_, cycles_, flops_, names_}) table->setRowsShown(kDetailRows);
}

void OperationDetails::setNames(const std::vector<model::DebugContext>& chain) {
  names_->setTable(debugTable(chain));
}

}  // namespace pipescope::pages
