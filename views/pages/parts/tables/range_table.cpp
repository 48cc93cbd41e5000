#include "views/pages/parts/tables/range_table.h"

#include <QHeaderView>
#include <QKeyEvent>
#include <QMenu>
#include <QPainter>
#include <QResizeEvent>
#include <QSortFilterProxyModel>
#include <QStyledItemDelegate>
#include <algorithm>

#include "profiler/geometry/colour_role.h"
#include "views/pages/parts/tables/table_menu.h"
#include "views/timeline/painters/shapes_painter.h"

namespace pipescope::pages {

using geometry::ColourRole;
using shell::Ui;

namespace {

constexpr int kRangeTableRow = 26, kProportions = 240, kLeastProportions = 80, kShareColumn = 118,
              kShortestBar = 24;

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
  connect(model_, &QAbstractItemModel::headerDataChanged, this, [this] { fitColumns(); });
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
    const bool empty = !model_->fills(c) || (compact && !model_->hasBytes(c));
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
