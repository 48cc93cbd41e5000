#include "profiler/sections/frame/table_beside.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

namespace pipescope::sections {
namespace {

using Row = std::vector<Cell>;

bool isNumberCell(const Cell& cell) {
  return std::holds_alternative<std::int64_t>(cell) || std::holds_alternative<double>(cell);
}

/// Numbers of things and words are no figures.
bool holdsFigures(const SectionColumn& column) {
  switch (column.format) {
    case Format::plain:
    case Format::truth:
    case Format::index:
    case Format::list:
    case Format::stage:
    case Format::term:
      return false;
    default:
      return true;
  }
}

std::string keyText(const Cell& cell) {
  return std::holds_alternative<std::monostate>(cell) ? std::string() : formatCell(cell, Format::plain);
}

const Cell& cellAt(const Row& row, std::size_t column) {
  static const Cell kNone;
  return column < row.size() ? row[column] : kNone;
}

/// Place of a table's column of this key; the number of columns if there is none.
std::size_t placeOf(const SectionTable& table, const std::string& key) {
  return static_cast<std::size_t>(std::ranges::find(table.columns, key, &SectionColumn::key) -
                                  table.columns.begin());
}

/// The two tables with the columns by which their rows are matched.
class Merge {
 public:
  Merge(const SectionTable& target, const SectionTable& source, double ticks)
      : target_(target), source_(source), ticks_(ticks) {}

  SectionTable make() {
    chooseNames();
    matchRows();
    made_.key = target_.key, made_.title = target_.title, made_.basis = target_.basis;
    made_.mostInText = target_.mostInText;
    made_.rows.resize(pairs_.size());
    const bool figures = std::ranges::any_of(target_.columns, holdsFigures) ||
                         std::ranges::any_of(source_.columns, holdsFigures);
    for (std::size_t c = 0; c < target_.columns.size(); ++c)
      addColumn(target_.columns[c], c, placeOf(source_, target_.columns[c].key), figures);
    for (std::size_t c = 0; c < source_.columns.size(); ++c) {
      if (placeOf(target_, source_.columns[c].key) == target_.columns.size())
        addColumn(source_.columns[c], target_.columns.size(), c, figures);
    }
    if (!target_.rowFormats.empty() || !source_.rowFormats.empty()) addFormats();
    return std::move(made_);
  }

 private:
  struct Pair {
    const Row *target = nullptr, *source = nullptr;
    std::size_t targetRow = 0, sourceRow = 0;
  };

  /// Chooses the first columns without figures, as few as tell the rows of both tables apart.
  void chooseNames() {
    for (std::size_t c = 0; c < target_.columns.size(); ++c) {
      if (c > 0 && holdsFigures(target_.columns[c])) break;
      const std::size_t other = placeOf(source_, target_.columns[c].key);
      if (other == source_.columns.size()) continue;
      names_.emplace_back(c, other);
      if (tellsApart(target_, false) && tellsApart(source_, true)) return;
    }
  }

  std::string nameOf(const Row& row, bool ofSource) const {
    std::string name;
    for (const auto& [target, source] : names_)
      name += keyText(cellAt(row, ofSource ? source : target)) + '\n';
    return name;
  }

  bool tellsApart(const SectionTable& table, bool ofSource) const {
    std::set<std::string> seen;
    return std::ranges::all_of(table.rows,
                               [&](const Row& row) { return seen.insert(nameOf(row, ofSource)).second; });
  }

  /// Rows of the same name are matched in their order.
  void matchRows() {
    std::map<std::string, std::vector<std::size_t>> left;
    for (std::size_t i = source_.rows.size(); i-- > 0;) left[nameOf(source_.rows[i], true)].push_back(i);
    std::vector<bool> used(source_.rows.size(), false);
    for (std::size_t i = 0; i < target_.rows.size(); ++i) {
      Pair pair{&target_.rows[i], nullptr, i, 0};
      const auto found = left.find(nameOf(target_.rows[i], false));
      if (found != left.end() && !found->second.empty()) {
        pair.sourceRow = found->second.back();
        pair.source = &source_.rows[pair.sourceRow];
        used[pair.sourceRow] = true;
        found->second.pop_back();
      }
      pairs_.push_back(pair);
    }
    for (std::size_t i = 0; i < source_.rows.size(); ++i) {
      if (!used[i]) pairs_.push_back({nullptr, &source_.rows[i], 0, i});
    }
  }

  Cell ofTarget(const Pair& pair, std::size_t column) const {
    return pair.target == nullptr ? Cell() : cellAt(*pair.target, column);
  }

  Cell ofSource(const Pair& pair, std::size_t column, Format format) const {
    if (pair.source == nullptr) return {};
    if (format == Format::ofRow && pair.sourceRow < source_.rowFormats.size())
      format = source_.rowFormats[pair.sourceRow];
    return scaled(cellAt(*pair.source, column), format);
  }

  Cell scaled(const Cell& cell, Format format) const {
    if (format != Format::ticks || ticks_ == 1 || std::holds_alternative<std::monostate>(cell)) return cell;
    if (ticks_ <= 0) return {};
    if (const auto* whole = std::get_if<std::int64_t>(&cell)) {
      const double converted = static_cast<double>(*whole) * ticks_;
      return std::fabs(converted) < 9e18 ? Cell(static_cast<std::int64_t>(std::llround(converted))) : Cell();
    }
    if (const auto* real = std::get_if<double>(&cell)) return *real * ticks_;
    return cell;
  }

  static Cell changeOf(const Cell& before, const Cell& after) {
    if (!isNumberCell(before) || !isNumberCell(after)) return {};
    const auto *from = std::get_if<std::int64_t>(&before), *to = std::get_if<std::int64_t>(&after);
    std::int64_t whole = 0;
    if (from != nullptr && to != nullptr && !__builtin_sub_overflow(*to, *from, &whole)) return whole;
    const auto number = [](const Cell& cell) {
      const auto* real = std::get_if<double>(&cell);
      return real != nullptr ? *real : static_cast<double>(std::get<std::int64_t>(cell));
    };
    return number(after) - number(before);
  }

  /// True if two columns of texts differ in a row of both tables. Rows that only one table has show which one
  /// it is in the first such column; more columns would only repeat it.
  bool textDiffers(const std::vector<Cell>& before, const std::vector<Cell>& after) {
    const bool first = !std::exchange(hasText_, true);
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      const bool both = pairs_[i].target != nullptr && pairs_[i].source != nullptr;
      if ((both || first) && before[i] != after[i]) return true;
    }
    return false;
  }

  /// Adds a column of the target, or one that only the source has.
  void addColumn(const SectionColumn& column, std::size_t target, std::size_t source, bool figures) {
    const bool isName =
        std::ranges::any_of(names_, [target](const auto& name) { return name.first == target; });
    std::vector<Cell> before, after;
    for (const Pair& pair : pairs_) {
      before.push_back(source == source_.columns.size() ? Cell() : ofSource(pair, source, column.format));
      after.push_back(target == target_.columns.size() ? Cell() : ofTarget(pair, target));
    }
    const auto number = [](const Cell& cell) { return isNumberCell(cell); };
    const bool compared = !isName && holdsFigures(column) &&
                          (std::ranges::any_of(before, number) || std::ranges::any_of(after, number));
    const bool differs = !isName && !figures && textDiffers(before, after);
    if (!compared && !differs) {
      for (std::size_t i = 0; i < after.size(); ++i) {
        if (pairs_[i].target == nullptr) after[i] = before[i];
      }
      return push(column, std::move(after));
    }
    SectionColumn one = column, other = column;
    one.key = kSourceKey + column.key;
    one.heading = column.heading + ", source";
    other.heading = column.heading + ", target";
    push(one, before);
    push(other, after);
    if (!compared) return;
    SectionColumn change = column;
    change.key = kDeltaKey + column.key;
    change.heading = column.heading + ", change";
    change.doc = "target − source";
    std::vector<Cell> changes;
    for (std::size_t i = 0; i < pairs_.size(); ++i) changes.push_back(changeOf(before[i], after[i]));
    push(change, std::move(changes));
  }

  void push(const SectionColumn& column, std::vector<Cell> cells) {
    made_.columns.push_back(column);
    for (std::size_t i = 0; i < cells.size(); ++i) made_.rows[i].push_back(std::move(cells[i]));
  }

  void addFormats() {
    for (const Pair& pair : pairs_) {
      const SectionTable& table = pair.target != nullptr ? target_ : source_;
      const std::size_t row = pair.target != nullptr ? pair.targetRow : pair.sourceRow;
      made_.rowFormats.push_back(row < table.rowFormats.size() ? table.rowFormats[row] : Format::plain);
    }
  }

  const SectionTable &target_, &source_;
  double ticks_;
  std::vector<std::pair<std::size_t, std::size_t>> names_;  ///< columns of target and source
  std::vector<Pair> pairs_;
  bool hasText_ = false;  ///< a column of texts beside the names has been added
  SectionTable made_;
};

}  // namespace

SectionTable withSource(const SectionTable& target, const SectionTable& source, double ticks) {
  return Merge(target, source, ticks).make();
}

std::vector<std::string> comparedKeys(const SectionTable& merged) {
  std::vector<std::string> keys;
  for (const SectionColumn& column : merged.columns) {
    if (column.key.starts_with(kSourceKey) &&
        placeOf(merged, column.key.substr(std::string(kSourceKey).size())) < merged.columns.size())
      keys.push_back(column.key.substr(std::string(kSourceKey).size()));
  }
  return keys;
}

}  // namespace pipescope::sections
