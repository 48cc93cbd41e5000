#include "views/pages/parts/range_table.h"

#include <QHeaderView>
#include <QKeyEvent>
#include <QMenu>
#include <QPainter>
#include <QResizeEvent>
#include <QSortFilterProxyModel>
#include <QStyledItemDelegate>
#include <algorithm>

#include "profiler/geometry/colour_role.h"
#include "profiler/sections/section.h"
#include "views/pages/parts/table_menu.h"
#include "views/timeline/shapes_painter.h"

namespace pipescope::pages {

using geometry::ColourRole;
using sections::Format;
using shell::Ui;

namespace {

constexpr int kRangeTableRow = 26, kProportions = 240, kLeastProportions = 110, kShareColumn = 118,
              kShortestBar = 24;
constexpr const char* kOfOnePiece = QT_TR_NOOP("Time in which at least one engine computes ÷ visible time");

struct Heading {
  const char *name, *doc;
  const char* unit = "";  ///< unit of the figures as plain numbers
};
constexpr Heading kHeadings[] = {
    {QT_TR_NOOP("Device"), QT_TR_NOOP("Device and the stages it holds")},
    {QT_TR_NOOP("Time"), QT_TR_NOOP("Compute, exchange, sync, host copies, global exchange and idle "
                                    "time; each instant is counted once")},
    {QT_TR_NOOP("Balance"),
     QT_TR_NOOP("Mean time of a %1 ÷ time of the slowest %1, averaged over compute steps"), "0 … 1"},
    {QT_TR_NOOP("Efficiency"),
     QT_TR_NOOP("Parallel efficiency: compute time summed over %1s ÷ (%1s × visible time)"), "0 … 1"},
    {QT_TR_NOOP("Stream Rx"), QT_TR_NOOP("Received from the host"), "B"},
    {QT_TR_NOOP("Stream Tx"), QT_TR_NOOP("Sent to the host"), "B"},
    {QT_TR_NOOP("Global Rx"), QT_TR_NOOP("Received from other devices"), "B"},
    {QT_TR_NOOP("Global Tx"), QT_TR_NOOP("Sent to other devices"), "B"},
    {QT_TR_NOOP("Compute"), QT_TR_NOOP("Time of compute steps"), "ticks"},
    {QT_TR_NOOP("Idle"), QT_TR_NOOP("Time without placement or transfer"), "ticks"},
    {QT_TR_NOOP("Total"), QT_TR_NOOP("Length of the visible time"), "ticks"}};
static_assert(std::size(kHeadings) == RangeModel::columns);

QString fromText(const std::string& text) {
  return QString::fromStdString(text);
}

/// Draws stacked proportions and shares.
class RangeDelegate : public QStyledItemDelegate {
 public:
  RangeDelegate(const shell::Palette& palette, QObject* parent)
      : QStyledItemDelegate(parent), palette_(palette) {}

  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    if (option.state & QStyle::State_Selected) painter->fillRect(option.rect, palette_.ui(Ui::selection));
    const QRect box = option.rect.adjusted(6, 6, -6, -6);
    if (index.column() == RangeModel::proportions)
      return paintParts(*painter, box, index.data(RangeModel::kValueRole).toList());
    if (index.column() == RangeModel::balance || index.column() == RangeModel::efficiency)
      return paintShare(*painter, option, box, index);
    QStyleOptionViewItem plain = option;
    plain.state &= ~QStyle::State_HasFocus;
    plain.rect.adjust(3, 0, -3, 0);
    QStyledItemDelegate::paint(painter, plain, index);
  }

 private:
  void paintParts(QPainter& painter, const QRect& box, const QVariantList& parts) const {
    double before = 0;
    const timeline::LabelFont labels(painter.font());
    painter.setFont(labels.font());
    const QFontMetrics metrics(labels.font());
    for (const QVariant& part : parts) {
      const QVariantList pair = part.toList();
      const auto role = static_cast<ColourRole>(pair[0].toInt());
      const double share = pair[1].toDouble();
      const int left = box.x() + static_cast<int>(std::min(before, 1.0) * box.width());
      before += share;
      const int right = box.x() + static_cast<int>(std::min(before, 1.0) * box.width());
      const QRect rect(left, box.y(), right - left, box.height());
      painter.fillRect(rect, palette_.colour(role));
      const QString text = QStringLiteral("%1 %").arg(share * 100, 0, 'f', 0);
      if (metrics.horizontalAdvance(text) + 6 > rect.width()) continue;
      painter.setPen(shell::Palette::textOn(palette_.colour(role)));
      painter.drawText(rect, Qt::AlignCenter, text);
    }
  }

  void paintShare(QPainter& painter, const QStyleOptionViewItem& option, const QRect& box,
                  const QModelIndex& index) const {
    const double share = std::clamp(index.data(RangeModel::kValueRole).toDouble(), 0.0, 1.0);
    const int figure = option.fontMetrics.horizontalAdvance(QStringLiteral("100.0 %")) + 6;
    QRect bar = box.adjusted(0, 2, -figure, -2);
    if (bar.width() >= kShortestBar) {
      painter.fillRect(bar, palette_.ui(Ui::grid));
      bar.setWidth(static_cast<int>(bar.width() * share));
      painter.fillRect(bar, palette_.ui(Ui::accent));
    }
    painter.setPen(palette_.ui(Ui::text));
    painter.drawText(box, Qt::AlignRight | Qt::AlignVCenter, index.data().toString());
  }

  const shell::Palette& palette_;
};

}  // namespace

void RangeModel::setRows(std::shared_ptr<const analysis::Trace> trace,
                         std::vector<analysis::RangeStatistics> rows, const geometry::TimeScale& scale) {
  const bool same = rows.size() == rows_.size() && trace == trace_;
  if (!same) beginResetModel();
  trace_ = std::move(trace);
  rows_ = std::move(rows);
  scale_ = scale;
  unit_.clear();
  for (const analysis::DeviceTrace& each : trace_ ? trace_->devices : std::vector<analysis::DeviceTrace>()) {
    if (each.units > 1) unit_ = fromText(each.unitName.empty() ? "unit" : each.unitName);
  }
  if (!same) {
    endResetModel();
  } else if (!rows_.empty()) {
    Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, columns - 1));
  }
}

int RangeModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}
int RangeModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(columns);
}

QVariantList RangeModel::parts(const analysis::RangeStatistics& row) const {
  QVariantList list;
  const double whole = std::max(1.0, static_cast<double>(row.total.count));
  const auto add = [&](ColourRole role, std::int64_t ticks) {
    if (ticks > 0) list << QVariant(QVariantList{static_cast<int>(role), static_cast<double>(ticks) / whole});
  };
  for (const model::StepKind kind :
       {model::StepKind::compute, model::StepKind::exchange, model::StepKind::sync,
        model::StepKind::globalExchange, model::StepKind::streamCopy, model::StepKind::remoteCopy,
        model::StepKind::control}) {
    add(geometry::roleOf(kind), row.byKind[analysis::kindIndex(kind)]);
  }
  add(ColourRole::otherKind, row.byKind[analysis::kStepKinds - 1]);
  add(ColourRole::idle, row.idle.count);
  return list;
}

QString RangeModel::text(const analysis::RangeStatistics& row, int column, bool compact) const {
  constexpr std::int64_t kLong = 10'000;  // shorter numbers gain nothing
  const analysis::DeviceTrace& of = trace_->devices[static_cast<std::size_t>(row.device)];
  const auto time = [&](std::int64_t ticks) {
    const base::Ticks whole(ticks);
    if (scale_.unit != geometry::TimeUnit::cycles) return fromText(formatDuration(whole, scale_));
    return fromText(compact && ticks >= kLong ? formatCell(ticks, Format::amount)
                                              : geometry::groupedNumber(ticks));
  };
  const auto bytes = [](base::Bytes b) {
    return b.count == 0 ? QStringLiteral("–") : fromText(formatCell(b.count, Format::bytes));
  };
  const auto share = [](double value) {
    return value > 0 ? fromText(formatCell(value, Format::fraction)) : QStringLiteral("–");
  };
  switch (column) {
    case Column::device: {
      QString name = fromText(of.name);
      for (std::size_t i = 0; i < of.stages.size(); ++i)
        name += (i == 0 ? tr(" · stage ") : QStringLiteral(", ")) + QString::number(of.stages[i]);
      return name;
    }
    case Column::proportions:
      return proportionsText(row).join(QStringLiteral(" · "));
    case Column::balance:
      return share(row.tileBalance);
    case Column::efficiency:
      return share(row.parallelEfficiency);
    case Column::streamIn:
      return bytes(row.streamIn);
    case Column::streamOut:
      return bytes(row.streamOut);
    case Column::globalIn:
      return bytes(row.globalIn);
    case Column::globalOut:
      return bytes(row.globalOut);
    case Column::compute:
      return time(row.byKind[analysis::kindIndex(model::StepKind::compute)]);
    case Column::idle:
      return time(row.idle.count);
    case Column::total:
      return time(row.total.count);
    default:
      return {};
  }
}

QString RangeModel::longestTime() const {
  if (!trace_) return {};
  analysis::RangeStatistics whole;
  whole.total = trace_->end - trace_->start;
  const QString longest = text(whole, Column::total, compact_);
  // A shorter time may have a fraction, where the longest has none: "64.5 units" and "252 units".
  return scale_.unit == geometry::TimeUnit::cycles ? longest : longest + QStringLiteral(".5");
}

void RangeModel::setCompact(bool compact) {
  if (compact == compact_) return;
  compact_ = compact;
  if (rowCount() > 0) Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, columns - 1), {Qt::DisplayRole});
}

bool RangeModel::hasBytes(int column) const {
  return std::ranges::any_of(rows_,
                             [&](const auto& row) { return sortValue(row, column).toLongLong() != 0; });
}

QStringList RangeModel::proportionsText(const analysis::RangeStatistics& row) const {
  const auto part = [&](const QString& name, std::int64_t ticks) {
    const double share = static_cast<double>(ticks) / std::max(1.0, static_cast<double>(row.total.count));
    return QStringLiteral("%1: %2 (%3)")
        .arg(name, fromText(formatDuration(base::Ticks(ticks), scale_)),
             fromText(formatCell(share, Format::fraction)));
  };
  QStringList parts;
  for (std::size_t kind = 0; kind + 1 < analysis::kStepKinds; ++kind) {
    if (row.byKind[kind] != 0)
      parts << part(fromText(model::toString(static_cast<model::StepKind>(kind))), row.byKind[kind]);
  }
  parts << part(tr("idle"), row.idle.count);
  return parts;
}

QVariant RangeModel::sortValue(const analysis::RangeStatistics& row, int column) const {
  const auto kind = [&](model::StepKind of) {
    return QVariant::fromValue<qlonglong>(row.byKind[analysis::kindIndex(of)]);
  };
  const auto bytes = [](base::Bytes b) { return QVariant::fromValue<qlonglong>(b.count); };
  switch (column) {
    case Column::proportions:
    case Column::compute:
      return kind(model::StepKind::compute);
    case Column::balance:
      return row.tileBalance;
    case Column::efficiency:
      return row.parallelEfficiency;
    case Column::streamIn:
      return bytes(row.streamIn);
    case Column::streamOut:
      return bytes(row.streamOut);
    case Column::globalIn:
      return bytes(row.globalIn);
    case Column::globalOut:
      return bytes(row.globalOut);
    case Column::idle:
      return QVariant::fromValue<qlonglong>(row.idle.count);
    case Column::total:
      return QVariant::fromValue<qlonglong>(row.total.count);
    default:  // sorts by number of the device, not by name
      return row.device;
  }
}

QVariant RangeModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount() || !trace_) return {};
  const analysis::RangeStatistics& row = rows_[static_cast<std::size_t>(index.row())];
  switch (role) {
    case Qt::DisplayRole:
      return text(row, index.column(), compact_);
    case kFullTextRole:
      return text(row, index.column());
    case Qt::TextAlignmentRole:
      return static_cast<int>((index.column() == device ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
    case kRawRole:
      return index.column() == device || index.column() == proportions ? QVariant()
                                                                       : sortValue(row, index.column());
    case kSortRole:
      return sortValue(row, index.column());
    case kValueRole:
      if (index.column() == proportions) return parts(row);
      return index.column() == balance ? row.tileBalance : row.parallelEfficiency;
    case Qt::ToolTipRole: {
      if (index.column() == proportions) return proportionsText(row).join(QLatin1Char('\n'));
      return compact_ && index.column() >= compute ? QVariant(text(row, index.column())) : QVariant();
    }
    default:
      return {};
  }
}

QVariant RangeModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= columns) return {};
  if (role == Qt::DisplayRole && section == balance && !unit_.isEmpty())
    return tr("%1 balance").arg(unit_.left(1).toUpper() + unit_.mid(1));
  if (role == Qt::DisplayRole) return tr(kHeadings[section].name);
  if (role == kRawRole) return QString::fromUtf8(kHeadings[section].unit);
  if (role == Qt::ToolTipRole) {
    if (section == efficiency && !hasUnits()) return tr(kOfOnePiece);
    const QString doc = tr(kHeadings[section].doc);
    return section == balance || section == efficiency ? QString(doc).replace(QStringLiteral("%1"), unit_)
                                                       : doc;
  }
  if (role == Qt::TextAlignmentRole)
    return static_cast<int>((section <= efficiency ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
  return {};
}

RangeTable::RangeTable(const shell::Palette& palette, QWidget* parent)
    : QTableView(parent), model_(new RangeModel(this)), proxy_(new QSortFilterProxyModel(this)) {
  proxy_->setSourceModel(model_);
  proxy_->setSortRole(RangeModel::kSortRole);
  proxy_->setFilterKeyColumn(RangeModel::device);
  proxy_->setFilterCaseSensitivity(Qt::CaseInsensitive);
  proxy_->setDynamicSortFilter(true);
  setModel(proxy_);
  setSortingEnabled(true);
  sortByColumn(-1, Qt::AscendingOrder);
  setItemDelegate(new RangeDelegate(palette, this));
  setSelectionBehavior(QAbstractItemView::SelectRows);
  setSelectionMode(QAbstractItemView::ExtendedSelection);
  setEditTriggers(QAbstractItemView::NoEditTriggers);
  setTabKeyNavigation(false);
  setShowGrid(false);
  setFrameShape(QFrame::NoFrame);
  verticalHeader()->hide();
  verticalHeader()->setDefaultSectionSize(kRangeTableRow);
  horizontalHeader()->setHighlightSections(false);
  horizontalHeader()->setMinimumSectionSize(60);
  setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
  setAccessibleName(tr("What each device does in view"));
}

int RangeTable::fitOthers(bool compact) {
  model_->setCompact(compact);
  const QFontMetrics metrics(font());
  const auto wide = [&](const QString& words) { return metrics.horizontalAdvance(words); };
  const auto heading = [&](int c) { return wide(headingOf(*model_, c)) + 14; };
  const int room = compact ? 12 : 20;
  const int figures = std::max(wide(compact ? QStringLiteral("123 M") : QStringLiteral("12,345,678")),
                               wide(model_->longestTime())) +
                      room;
  resizeColumnToContents(RangeModel::device);
  setColumnWidth(RangeModel::device, columnWidth(RangeModel::device) + (compact ? 8 : 12));
  for (const int c : {RangeModel::balance, RangeModel::efficiency})
    setColumnWidth(c, compact ? heading(c) : kShareColumn);
  for (const int c :
       {RangeModel::streamIn, RangeModel::streamOut, RangeModel::globalIn, RangeModel::globalOut}) {
    // A column that the user has hidden stays so.
    const bool empty = compact && !model_->hasBytes(c);
    if (empty && !isColumnHidden(c)) hidden_.insert(c), setColumnHidden(c, true);
    if (!empty && hidden_.erase(c) > 0) setColumnHidden(c, false);
    setColumnWidth(c, std::max(compact ? heading(c) : 0, wide(QStringLiteral("123.4 MiB")) + room));
  }
  for (const int c : {RangeModel::compute, RangeModel::idle, RangeModel::total})
    setColumnWidth(c, std::max(compact ? heading(c) : 0, figures));
  int others = 0;
  for (int c = 0; c < RangeModel::columns; ++c)
    others += c == RangeModel::proportions ? 0 : columnWidth(c);  // hidden columns have width 0
  return viewport()->width() - others;
}

/// The proportions take the remaining width. Before they become too narrow to read, the figures become
/// shorter, and then they scroll out of sight.
void RangeTable::fitColumns() {
  QHeaderView* header = horizontalHeader();
  header->setSectionResizeMode(QHeaderView::Interactive);
  setColumnHidden(RangeModel::balance, !model_->hasUnits());
  const bool fits = fitOthers(false) >= kProportions || fitOthers(true) >= kLeastProportions;
  header->setSectionResizeMode(RangeModel::proportions,
                               fits ? QHeaderView::Stretch : QHeaderView::Interactive);
  if (!fits) setColumnWidth(RangeModel::proportions, kLeastProportions);
}

void RangeTable::filter(const QString& text) {
  proxy_->setFilterFixedString(text);
}

QMenu* RangeTable::makeMenu() {
  auto* menu = new QMenu(this);
  addTableActions(*menu, *this);
  return menu;
}

void RangeTable::contextMenuEvent(QContextMenuEvent* event) {
  QMenu* menu = makeMenu();
  menu->setAttribute(Qt::WA_DeleteOnClose);
  menu->popup(event->globalPos());
}

void RangeTable::keyPressEvent(QKeyEvent* event) {
  if (event->matches(QKeySequence::Copy)) return copyRows(*this);
  if (isPageKey(*event)) return event->ignore();
  QTableView::keyPressEvent(event);
}

void RangeTable::resizeEvent(QResizeEvent* event) {
  QTableView::resizeEvent(event);
  if (event->size().width() != event->oldSize().width()) fitColumns();
}

}  // namespace pipescope::pages
