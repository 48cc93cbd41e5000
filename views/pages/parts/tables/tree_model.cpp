#include "views/pages/parts/tables/tree_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "profiler/base/wrapping.h"
#include "profiler/sections/frame/column_text.h"
#include "profiler/sections/frame/table_beside.h"
#include "views/pages/parts/data/section_lookup.h"
#include "views/pages/parts/data/text.h"
#include "views/pages/parts/tables/section_table_model.h"
#include "views/pages/parts/tables/table_menu.h"
#include "views/shell/background.h"

namespace pipescope::pages {
namespace {

using sections::Cell;
using sections::Format;

/// Ratios and rates of parts do not add up to those of the whole, nor do parts that may lie on different
/// units.
bool addsUp(const sections::SectionColumn& column) {
  switch (column.format) {
    case Format::amount:
      return column.key == "flops";
    case Format::fraction:
      return column.key == "share";
    case Format::count:
    case Format::ticks:
      return true;
    case Format::bytes:
      return column.key != "max_unit";
    default:
      return false;
  }
}

void addCell(Cell& sum, const Cell& part) {
  if (std::holds_alternative<std::monostate>(part)) return;
  if (std::holds_alternative<std::monostate>(sum)) {
    sum = part;
    return;
  }
  auto* whole = std::get_if<std::int64_t>(&sum);
  const auto* own = std::get_if<std::int64_t>(&part);
  if (whole != nullptr && own != nullptr) {
    base::addWrapped(*whole, *own);
  } else {
    sum = numberIn(sum) + numberIn(part);
  }
}

/// The table with all that it has but rows.
sections::SectionTable withoutRows(sections::SectionTable& table) {
  std::vector<std::vector<Cell>> rows = std::exchange(table.rows, {});
  sections::SectionTable made = table;
  table.rows = std::move(rows);
  return made;
}

class PathTree {
 public:
  explicit PathTree(sections::SectionTable table) : table_(std::move(table)) {}

  TreeRows make() {
    made_.table = withoutRows(table_);
    std::map<std::string, int> uses;  // number of rows at or below a path
    for (const auto& row : table_.rows) {
      const std::string name = wordsIn(row[0]).toStdString();
      for (std::size_t end = name.find('/');; end = name.find('/', end + 1)) {
        ++uses[name.substr(0, end)];
        if (end == std::string::npos) break;
      }
    }
    for (std::size_t i = 0; i < table_.rows.size(); ++i) addRow(static_cast<int>(i), uses);
    return std::move(made_);
  }

 private:
  void addRow(int source, const std::map<std::string, int>& uses) {
    auto& row = table_.rows[static_cast<std::size_t>(source)];
    const std::string name = wordsIn(row[0]).toStdString();
    int parent = -1;
    std::size_t from = 0;
    // Only paths that several rows share become nodes of their own.
    for (std::size_t end = name.find('/'); end != std::string::npos; end = name.find('/', end + 1)) {
      const std::string path = name.substr(0, end);
      if (uses.at(path) < 2) continue;
      parent = groupAt(path, name.substr(from, end - from), parent);
      from = end + 1;
    }
    for (int above = parent; above >= 0; above = made_.parents[static_cast<std::size_t>(above)]) {
      auto& sums = made_.table.rows[static_cast<std::size_t>(above)];
      for (std::size_t c = 1; c < table_.columns.size(); ++c) {
        if (addsUp(table_.columns[c])) addCell(sums[c], row[c]);
      }
    }
    if (parent >= 0) row[0] = name.substr(from);
    push(std::move(row), parent, source);
  }

  int groupAt(const std::string& path, const std::string& name, int parent) {
    const auto known = groups_.find(path);
    if (known != groups_.end()) return known->second;
    std::vector<Cell> cells(table_.columns.size());
    cells[0] = name;
    push(std::move(cells), parent, -1);
    return groups_[path] = static_cast<int>(made_.parents.size()) - 1;
  }

  void push(std::vector<Cell> cells, int parent, int source) {
    made_.table.rows.push_back(std::move(cells));
    made_.parents.push_back(parent);
    made_.sources.push_back(source);
  }

  sections::SectionTable table_;  ///< its rows move into the tree
  TreeRows made_;
  std::map<std::string, int> groups_;
};

/// The name with a star in place of each number.
std::string withoutNumbers(const std::string& name) {
  std::string made;
  for (const char c : name) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit) {
      made += c;
    } else if (made.empty() || made.back() != '*') {
      made += '*';
    }
  }
  return made;
}

/// Rows that are folded into one.
struct EqualRows {
  std::string name;
  std::vector<int> rows;
  double size = 0;
};

/// The column by which rows are large: the change of a comparison, or else the first column of times; the
/// number of columns if there is neither.
std::size_t timeColumnOf(const sections::SectionTable& table) {
  auto found = std::ranges::find(table.columns, "delta_cycles", &sections::SectionColumn::key);
  if (found == table.columns.end())
    found = std::ranges::find(table.columns, Format::ticks, &sections::SectionColumn::format);
  return static_cast<std::size_t>(found - table.columns.begin());
}

/// A ratio that all parts share is that of the whole, too. It counts as equal if it is written alike.
void keepIfEqual(Cell& kept, const Cell& part, Format format, bool isFirst) {
  if (isFirst) {
    kept = part;
  } else if (kept != part && formatCell(kept, format) != formatCell(part, format)) {
    kept = Cell();
  }
}

std::vector<EqualRows> equalRows(const sections::SectionTable& table) {
  const auto column = [&](const auto& is) {
    return static_cast<std::size_t>(std::ranges::find_if(table.columns, is) - table.columns.begin());
  };
  const std::size_t kind = column([](const auto&one) { return one.key == "kind"; }),
                    time = timeColumnOf(table);
  std::vector<EqualRows> groups;
  std::map<std::pair<std::string, std::string>, std::size_t> places;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const std::vector<Cell>& row = table.rows[i];
    const std::string name = withoutNumbers(wordsIn(row[0]).toStdString());
    const std::string kindOfRow = kind < row.size() ? wordsIn(row[kind]).toStdString() : std::string();
    const auto [known, isNew] = places.try_emplace({name, kindOfRow}, groups.size());
    if (isNew) groups.push_back({name, {}, 0});
    EqualRows& group = groups[known->second];
    group.rows.push_back(static_cast<int>(i));
    if (time < row.size()) group.size += numberIn(row[time]);
  }
  std::ranges::stable_sort(
      groups, [](const EqualRows& a, const EqualRows& b) { return std::abs(a.size) > std::abs(b.size); });
  return groups;
}

/// The sums of the rows of a group, and what is equal in all of them.
std::vector<Cell> sumsOf(const sections::SectionTable& table, const EqualRows& group) {
  std::vector<Cell> sums(table.columns.size());
  sums[0] = fmt::format("{} × {}", group.name, group.rows.size());
  for (std::size_t c = 1; c < sums.size(); ++c) {
    const bool adds = addsUp(table.columns[c]);
    for (const int row : group.rows) {
      const Cell& part = table.rows[static_cast<std::size_t>(row)][c];
      adds ? addCell(sums[c], part)
           : keepIfEqual(sums[c], part, table.columns[c].format, row == group.rows.front());
    }
  }
  return sums;
}

/// The number of rows of a group that take as long as most of them.
int equallyLong(const sections::SectionTable& table, const EqualRows& group) {
  constexpr double kAlike = 0.02;
  const std::size_t time = timeColumnOf(table);
  if (time == table.columns.size()) return static_cast<int>(group.rows.size());
  std::vector<double> times;
  for (const int row : group.rows) times.push_back(numberIn(table.rows[static_cast<std::size_t>(row)][time]));
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::ranges::nth_element(times, middle);
  const double median = *middle;
  return static_cast<int>(std::ranges::count_if(
      times, [median](double own) { return std::abs(own - median) <= kAlike * std::abs(median); }));
}

/// The table with the whole path of each row in place of its name.
sections::SectionTable tableOfTree(const TreeRows& rows) {
  sections::SectionTable table = rows.table;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    std::string path = wordsIn(rows.table.rows[i][0]).toStdString();
    // A parent precedes its children, so it has its path already.
    if (const int parent = rows.parents[i]; parent >= 0)
      path = wordsIn(table.rows[static_cast<std::size_t>(parent)][0]).toStdString() + '\x1f' + path;
    table.rows[i][0] = std::move(path);
  }
  return table;
}

}  // namespace

TreeRows treeWithSource(const TreeRows& target, const TreeRows& source, double ticks) {
  TreeRows made{sections::withSource(tableOfTree(target), tableOfTree(source), ticks), target.parents,
                target.sources};
  std::map<std::string, int> byPath;
  for (std::size_t i = 0; i < made.table.rows.size(); ++i) {
    Cell& name = made.table.rows[i][0];
    const std::string path = wordsIn(name).toStdString();
    const std::size_t end = path.rfind('\x1f');
    if (i >= target.parents.size()) {
      const auto parent = end == std::string::npos ? byPath.end() : byPath.find(path.substr(0, end));
      made.parents.push_back(parent == byPath.end() ? -1 : parent->second);
      made.sources.push_back(-2);
    }
    byPath.emplace(path, static_cast<int>(i));
    if (end != std::string::npos) name = path.substr(end + 1);
  }
  return made;
}

TreeRows treeOfPaths(sections::SectionTable table) {
  return PathTree(std::move(table)).make();
}

TreeRows treeOfEqualLayers(sections::SectionTable table) {
  TreeRows made;
  made.table = withoutRows(table);
  const auto push = [&made](std::vector<Cell> cells, int parent, int source) {
    made.table.rows.push_back(std::move(cells));
    made.parents.push_back(parent);
    made.sources.push_back(source);
  };
  for (const EqualRows& group : equalRows(table)) {
    int parent = -1;
    if (group.rows.size() > 1) {
      parent = static_cast<int>(made.parents.size());
      push(sumsOf(table, group), -1, -1);
    }
    for (const int row : group.rows) push(std::move(table.rows[static_cast<std::size_t>(row)]), parent, row);
  }
  return made;
}

Folding foldingOf(const sections::SectionTable& table) {
  Folding folding;
  for (const EqualRows& group : equalRows(table)) {
    folding.largest = std::max(folding.largest, static_cast<int>(group.rows.size()));
    folding.equal = std::max(folding.equal, equallyLong(table, group));
  }
  return folding;
}

std::shared_ptr<const TreeShape> shapeOf(const TreeRows& rows) {
  auto shape = std::make_shared<TreeShape>();
  const std::size_t count = rows.parents.size(), columns = rows.table.columns.size();
  shape->children.resize(count);
  shape->places.resize(count);
  std::vector<int> depths(count, 0);
  for (std::size_t i = 0; i < count; ++i) {
    const int parent = rows.parents[i];
    std::vector<int>& siblings =
        parent < 0 ? shape->roots : shape->children[static_cast<std::size_t>(parent)];
    shape->places[i] = static_cast<int>(siblings.size());
    siblings.push_back(static_cast<int>(i));
    depths[i] = parent < 0 ? 0 : depths[static_cast<std::size_t>(parent)] + 1;
    shape->byDepth.resize(std::max(shape->byDepth.size(), static_cast<std::size_t>(depths[i]) + 1), 0);
    ++shape->byDepth[static_cast<std::size_t>(depths[i])];
  }
  shape->numbers.assign(columns, false);
  shape->used.assign(columns, false);
  shape->largest.assign(columns, count == 0 ? -1 : 0);
  for (std::size_t c = 0; c < columns; ++c) {
    double largest = -1;
    for (std::size_t i = 0; i < count; ++i) {
      const Cell& cell = rows.table.rows[i][c];
      if (std::holds_alternative<std::monostate>(cell)) continue;
      shape->used[c] = true;
      if (std::holds_alternative<std::string>(cell)) continue;
      if (!std::holds_alternative<bool>(cell)) shape->numbers[c] = true;
      const double size = std::abs(numberIn(cell));
      if (size > largest) largest = size, shape->largest[c] = static_cast<int>(i);
    }
  }
  return shape;
}

namespace {

/// A tree holds sums beside their smallest parts: times below the last decimal of the largest sum get up to
/// two more, so that a part that takes time is not written as 0.
int decimalsInTree(const sections::SectionTable& table, std::size_t column, double ticksPerShownUnit) {
  constexpr int kMost = 2;
  int decimals = sections::columnDecimals(table, column, ticksPerShownUnit);
  if (table.columns[column].format != Format::ticks || ticksPerShownUnit == 1) return decimals;
  double smallest = 0;
  for (const auto& row : table.rows) {
    const double size = std::abs(numberIn(row[column])) / ticksPerShownUnit;
    if (size > 0 && (smallest == 0 || size < smallest)) smallest = size;
  }
  while (smallest > 0 && decimals < kMost && smallest * std::pow(10.0, decimals) < 0.5) ++decimals;
  return decimals;
}

}  // namespace

std::shared_ptr<const TreeRows> withShape(TreeRows rows) {
  if (!rows.shape) rows.shape = shapeOf(rows);
  return std::make_shared<const TreeRows>(std::move(rows));
}

void TreeModel::setRows(std::shared_ptr<const TreeRows> rows, double ticksPerShownUnit, bool sameMarks) {
  beginResetModel();
  shell::dropInBackground(std::exchange(rows_, std::move(rows)));
  ticksPerShownUnit_ = ticksPerShownUnit;
  decimals_.clear();
  for (std::size_t c = 0; c < rows_->table.columns.size(); ++c)
    decimals_.push_back(decimalsInTree(rows_->table, c, ticksPerShownUnit_));
  if (!sameMarks) marks_.reset();
  endResetModel();
}

void TreeModel::setMarks(std::vector<QPixmap> pictures, RowMarks marks) {
  pictures_ = std::move(pictures);
  marks_ = std::move(marks);
}

const std::vector<int>& TreeModel::childrenOf(const QModelIndex& parent) const {
  return parent.isValid() ? shape().children[static_cast<std::size_t>(rowOf(parent))] : shape().roots;
}

QModelIndex TreeModel::indexOf(int row, int column) const {
  if (row < 0 || row >= static_cast<int>(shape().places.size())) return {};
  return createIndex(shape().places[static_cast<std::size_t>(row)], column, static_cast<quintptr>(row));
}

QModelIndex TreeModel::index(int row, int column, const QModelIndex& parent) const {
  const std::vector<int>& siblings = childrenOf(parent);
  if (row < 0 || row >= static_cast<int>(siblings.size())) return {};
  return createIndex(row, column, static_cast<quintptr>(siblings[static_cast<std::size_t>(row)]));
}

QModelIndex TreeModel::parent(const QModelIndex& child) const {
  return child.isValid() ? indexOf(rows_->parents[static_cast<std::size_t>(rowOf(child))]) : QModelIndex();
}

int TreeModel::rowCount(const QModelIndex& parent) const {
  return parent.column() > 0 ? 0 : static_cast<int>(childrenOf(parent).size());
}

int TreeModel::columnCount(const QModelIndex&) const {
  return static_cast<int>(rows_->table.columns.size());
}

QVariant TreeModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const auto row = static_cast<std::size_t>(rowOf(index));
  const sections::SectionColumn& column = rows_->table.columns[static_cast<std::size_t>(index.column())];
  const Cell& cell = rows_->table.rows[row][static_cast<std::size_t>(index.column())];
  const bool none = std::holds_alternative<std::monostate>(cell);
  switch (role) {
    case Qt::DisplayRole:
      if (none && rows_->sources[row] == -1) return QString();
      return text(
          sections::changeText(column.key, column.format,
                               sections::formatInColumn(cell, column.format, ticksPerShownUnit_,
                                                        decimals_[static_cast<std::size_t>(index.column())]),
                               cell));
    case Qt::TextAlignmentRole:
      return static_cast<int>(
          (shape().numbers[static_cast<std::size_t>(index.column())] ? Qt::AlignRight : Qt::AlignLeft) |
          Qt::AlignVCenter);
    case Qt::DecorationRole:
      return index.column() == 0 && marks_ && row < marks_->size()
                 ? QVariant(pictures_[static_cast<std::size_t>((*marks_)[row])])
                 : QVariant();
    case Qt::ToolTipRole:
      return index.column() == 0 ? QVariant(text(formatCell(cell, Format::plain))) : QVariant();
    case SectionTableModel::kSortRole:
      if (const auto* words = std::get_if<std::string>(&cell)) return text(*words);
      return none ? QVariant() : QVariant(numberIn(cell));
    case SectionTableModel::kShareRole:
      return column.format == Format::fraction && !none ? QVariant(numberIn(cell)) : QVariant();
    case kRawRole:
      return shape().numbers[static_cast<std::size_t>(index.column())] && !none ? QVariant(numberIn(cell))
                                                                                : QVariant();
    default:
      return {};
  }
}

QVariant TreeModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= columnCount()) return {};
  const sections::SectionColumn& column = rows_->table.columns[static_cast<std::size_t>(section)];
  if (role == Qt::DisplayRole) return text(column.heading);
  if (role == Qt::ToolTipRole) return text(column.doc);
  if (role == Qt::TextAlignmentRole)
    return static_cast<int>(
        (shape().numbers[static_cast<std::size_t>(section)] ? Qt::AlignRight : Qt::AlignLeft) |
        Qt::AlignVCenter);
  return {};
}

}  // namespace pipescope::pages
