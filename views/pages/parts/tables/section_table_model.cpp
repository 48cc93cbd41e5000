#include "views/pages/parts/tables/section_table_model.h"

#include <cmath>
#include <cstdlib>
#include <set>

#include "profiler/base/short_names.h"
#include "profiler/sections/frame/column_text.h"
#include "profiler/sections/frame/heading_text.h"
#include "views/pages/parts/data/section_lookup.h"
#include "views/pages/parts/data/text.h"
#include "views/pages/parts/tables/table_menu.h"
#include "views/shell/look/glossary.h"

namespace pipescope::pages {
namespace {

/// Number of characters up to which a text is seen whole.
constexpr std::size_t kLongName = 24;

struct SortValue {
  QVariant operator()(std::monostate) const { return {}; }
  QVariant operator()(std::int64_t n) const { return QVariant::fromValue<qlonglong>(n); }
  QVariant operator()(double x) const { return x; }
  QVariant operator()(const std::string& s) const { return QString::fromStdString(s); }
  QVariant operator()(bool b) const { return b; }
  QVariant operator()(const sections::Breakdown& parts) const {
    double sum = 0;
    for (const auto& part : parts) sum += sections::numberOf(part.second);
    return sum;
  }
};

QString unitOf(sections::Format format) {
  switch (format) {
    case sections::Format::ticks:
      return QStringLiteral("ticks");
    case sections::Format::bytes:
      return QStringLiteral("B");
    case sections::Format::fraction:
      return QStringLiteral("0 … 1");
    case sections::Format::seconds:
      return QStringLiteral("s");
    case sections::Format::rate:
      return QStringLiteral("1/s");
    case sections::Format::byteRate:
      return QStringLiteral("B/s");
    default:
      return {};
  }
}

QVariant rawOf(const sections::Cell& value) {
  if (std::holds_alternative<std::monostate>(value)) return QStringLiteral("");
  const bool isNumber = std::holds_alternative<double>(value) || std::holds_alternative<std::int64_t>(value);
  return isNumber ? std::visit(SortValue(), value) : QVariant();
}

/// Less time and fewer bytes are better. Other quantities do not say.
QVariant changeOf(const sections::SectionColumn& column, sections::Format format,
                  const sections::Cell& value) {
  const bool cost = format == sections::Format::ticks || format == sections::Format::bytes ||
                    format == sections::Format::seconds;
  if (!cost || !QString::fromStdString(column.key).startsWith(QLatin1String("delta"))) return {};
  const double change = std::visit(SortValue(), value).toDouble();
  return change > 0 ? 1 : change < 0 ? -1 : 0;
}

/// Breaks a heading of several words at the blank that is nearest to its middle.
QString onTwoLines(QString heading) {
  int best = -1;
  for (int at = heading.indexOf(QLatin1Char(' ')); at >= 0; at = heading.indexOf(QLatin1Char(' '), at + 1)) {
    if (best < 0 || std::abs(2 * at - heading.size()) < std::abs(2 * best - heading.size())) best = at;
  }
  return best < 0 ? heading : heading.replace(best, 1, QLatin1Char('\n'));
}

}  // namespace

void SectionTableModel::setTable(sections::SectionTable table, double ticksPerShownUnit,
                                 std::optional<geometry::TimeScale> times) {
  beginResetModel();
  table_ = std::move(table);
  marks_.clear();
  ticksPerShownUnit_ = ticksPerShownUnit;
  times_ = times;
  for (auto& row : table_.rows) row.resize(table_.columns.size());
  decimals_.clear();
  numbers_.clear();
  shares_.clear();
  shortNames_.assign(table_.columns.size(), {});
  wholes_.clear();
  for (std::size_t c = 0; c < table_.columns.size(); ++c) {
    decimals_.push_back(columnDecimals(table_, c, ticksPerShownUnit_));
    numbers_.push_back(holdsNumbers(c));
    shares_.push_back(holdsShares(c));
    double largest = 0;
    for (const auto& row : table_.rows) largest = std::max(largest, shares_.back() ? numberIn(row[c]) : 0.0);
    wholes_.push_back(barsToLargest_ && largest > 0 ? largest : 1);
    if (QString::fromStdString(table_.columns[c].key).endsWith(QLatin1String("_name"))) shortenNames(c);
  }
  endResetModel();
}

void SectionTableModel::shortenNames(std::size_t column) {
  std::set<std::string> distinct;
  for (const auto& row : table_.rows) {
    const auto* name = std::get_if<std::string>(&row[column]);
    if (name != nullptr && !name->empty()) distinct.insert(*name);
  }
  const std::vector<std::string> names(distinct.begin(), distinct.end()), shortened = base::shortNames(names);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].size() > kLongName && shortened[i] != names[i])
      shortNames_[column].emplace(names[i], text(shortened[i]));
  }
}

void SectionTableModel::setWidths(Widths widths, const QFont& headings) {
  headingFont_ = headings;
  if (widths == widths_) return;
  widths_ = widths;
  if (rowCount() > 0 && columnCount() > 0)
    Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, columnCount() - 1), {Qt::DisplayRole, kShareRole});
  if (columnCount() > 0) Q_EMIT headerDataChanged(Qt::Horizontal, 0, columnCount() - 1);
}

void SectionTableModel::setMarks(std::vector<QPixmap> marks) {
  marks_ = std::move(marks);
  if (rowCount() > 0) Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, 0), {Qt::DecorationRole});
}

int SectionTableModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(table_.rows.size());
}
int SectionTableModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(table_.columns.size());
}

const sections::Cell* SectionTableModel::cell(const QModelIndex& index) const {
  if (!index.isValid() || index.row() >= rowCount() || index.column() >= columnCount()) return nullptr;
  return &table_.rows[static_cast<std::size_t>(index.row())][static_cast<std::size_t>(index.column())];
}

/// Bars need values that are never less than nothing, so a change or a bias has none.
bool SectionTableModel::holdsShares(std::size_t column) const {
  const sections::SectionColumn& of = table_.columns[column];
  return of.format == sections::Format::fraction && !sections::isChange(of.key) &&
         std::ranges::none_of(table_.rows, [column](const auto& row) {
           const auto* value = std::get_if<double>(&row[column]);
           return value != nullptr && *value < 0;
         });
}

bool SectionTableModel::holdsNumbers(std::size_t column) const {
  for (const auto& row : table_.rows) {
    const sections::Cell& value = row[column];
    if (std::holds_alternative<std::monostate>(value)) continue;
    return std::holds_alternative<double>(value) || std::holds_alternative<std::int64_t>(value);
  }
  return false;
}

/// Columns of numbers, and their headings, are aligned to the right.
bool SectionTableModel::isNumber(int column) const {
  return numbers_[static_cast<std::size_t>(column)];
}

sections::Format SectionTableModel::formatOf(const QModelIndex& index) const {
  const sections::Format format = table_.columns[static_cast<std::size_t>(index.column())].format;
  const auto row = static_cast<std::size_t>(index.row());
  return format == sections::Format::ofRow && row < table_.rowFormats.size() ? table_.rowFormats[row]
                                                                             : format;
}

QString SectionTableModel::textOf(const sections::Cell& value, const QModelIndex& index, bool compact) const {
  constexpr double kLong = 10'000;  // shorter times gain nothing
  const sections::Format format = formatOf(index);
  const auto* ticks = std::get_if<std::int64_t>(&value);
  const bool isTime = times_ && ticks != nullptr && format == sections::Format::ticks;
  const auto column = static_cast<std::size_t>(index.column());
  const double amount = numberIn(value) / ticksPerShownUnit_;
  const std::string shown =
      isTime ? formatDuration(base::Ticks(*ticks), *times_)
      : compact && format == sections::Format::ticks && std::fabs(amount) >= kLong
          ? formatCell(amount, sections::Format::amount)
          : sections::formatInColumn(value, format, ticksPerShownUnit_, decimals_[column]);
  return text(sections::changeText(table_.columns[column].key, format, shown, value));
}

QVariant SectionTableModel::data(const QModelIndex& index, int role) const {
  const sections::Cell* value = cell(index);
  if (value == nullptr) return {};
  const sections::SectionColumn& column = table_.columns[static_cast<std::size_t>(index.column())];
  switch (role) {
    case Qt::DisplayRole: {
      const auto& names = shortNames_[static_cast<std::size_t>(index.column())];
      const auto* name = std::get_if<std::string>(value);
      const auto found = name != nullptr ? names.find(*name) : names.end();
      return found != names.end() ? found->second : textOf(*value, index, compact());
    }
    case kFullTextRole:
      return textOf(*value, index);
    case Qt::ToolTipRole: {
      const QString text = column.format == sections::Format::list
                               ? QString::fromStdString(formatCell(*value, sections::Format::plain))
                               : textOf(*value, index);
      const bool shortened = compact() && text != textOf(*value, index, true);
      return shortened || text.size() > static_cast<int>(kLongName) ? text : QString();
    }
    case Qt::TextAlignmentRole:
      return static_cast<int>((isNumber(index.column()) ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    case Qt::DecorationRole: {
      const auto row = static_cast<std::size_t>(index.row());
      return index.column() == 0 && row < marks_.size() ? QVariant(marks_[row]) : QVariant();
    }
    case kRawRole:
      return rawOf(*value);
    case kSortRole:
      return std::visit(SortValue(), *value);
    case kChangeRole:
      return costsJudged_ && textOf(*value, index) != textOf(sections::Cell(std::int64_t{0}), index)
                 ? changeOf(column, formatOf(index), *value)
                 : QVariant();
    case kShareRole:
      if (widths_ == Widths::bars && shares_[static_cast<std::size_t>(index.column())] &&
          std::holds_alternative<double>(*value))
        return std::get<double>(*value) / wholes_[static_cast<std::size_t>(index.column())];
      return {};
    default:
      return {};
  }
}

QVariant SectionTableModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= columnCount()) return {};
  const sections::SectionColumn& column = table_.columns[static_cast<std::size_t>(section)];
  if (role == Qt::DisplayRole) {
    const QString heading = text(sections::wholeHeading(table_, static_cast<std::size_t>(section)));
    return compact() ? onTwoLines(heading) : heading;
  }
  if (role == Qt::FontRole) return compact() ? QVariant(headingFont_) : QVariant();
  if (role == kRawRole) return isNumber(section) ? unitOf(column.format) : QString();
  if (role == Qt::ToolTipRole) {
    const QString doc = QString::fromStdString(column.doc),
                  word = shell::glossaryOf(QString::fromStdString(column.heading));
    if (doc.isEmpty() || word.isEmpty()) return doc + word;
    return doc + QLatin1Char('\n') + word;
  }
  if (role == Qt::TextAlignmentRole)
    return static_cast<int>((isNumber(section) ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
  return {};
}

}  // namespace pipescope::pages
