#pragma once
// Drawing of the cells and headings of a DataTable, and the sorting of its rows.
#include <QApplication>
#include <QHeaderView>
#include <QPainter>
#include <QSortFilterProxyModel>
#include <QStyledItemDelegate>
#include <algorithm>
#include <cmath>

#include "profiler/base/natural_order.h"
#include "views/pages/parts/data/text.h"
#include "views/pages/parts/tables/section_table_model.h"
#include "views/pages/parts/tables/table_menu.h"
#include "views/shell/look/palette.h"

namespace pipescope::pages {

inline constexpr int kDataTableRow = 25, kCellPadding = 3, kNarrowestColumn = 40;
inline constexpr int kBarWidth = 36;   ///< pixels of the bar of a whole
inline constexpr int kBarIndent = 12;  ///< pixels between the column before and a bar
inline constexpr int kBarGap = 2;      ///< pixels between a bar and the cell of its figure

/// Draws a bar beside fractions. The bars of a column begin at the same place. They lie at their own figures
/// and not at the left of the cell, for there they would seem to belong to the column before.
class ShareDelegate : public QStyledItemDelegate {
 public:
  ShareDelegate(const shell::Palette& palette, QObject* parent)
      : QStyledItemDelegate(parent), palette_(palette) {}

  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    if (option.state & QStyle::State_Selected)
      painter->fillRect(option.rect, palette_.ui(shell::Ui::selection));
    const QVariant share = index.data(SectionTableModel::kShareRole);
    if (share.isValid()) drawBar(painter, option, share.toDouble());
    QStyleOptionViewItem plain = option;
    plain.state &= ~(QStyle::State_HasFocus | QStyle::State_Selected);
    plain.rect.adjust(kCellPadding, 0, -kCellPadding, 0);
    plain.features.setFlag(QStyleOptionViewItem::WrapText, option.rect.height() > row_);
    // Names that are alike differ at their ends. No figure of several in a cell loses digits in its middle.
    const bool wraps = plain.features.testFlag(QStyleOptionViewItem::WrapText);
    const bool several = index.data(Qt::DisplayRole).toString().contains(QStringLiteral(" · "));
    plain.textElideMode = wraps || several ? Qt::ElideRight : Qt::ElideMiddle;
    if (const int change = index.data(SectionTableModel::kChangeRole).toInt(); change != 0)
      plain.palette.setColor(QPalette::Text, palette_.ui(change > 0 ? shell::Ui::error : shell::Ui::good));
    QStyledItemDelegate::paint(painter, plain, index);
  }

  /// The height of a row with one line of text.
  int row() const { return row_; }
  void setRow(int height) { row_ = height; }

  void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override {
    const bool wraps = option->features.testFlag(QStyleOptionViewItem::WrapText);
    QStyledItemDelegate::initStyleOption(option, index);
    option->features.setFlag(QStyleOptionViewItem::WrapText, wraps);
    if (wraps) option->text = unbroken(option->text);
  }

  /// Thousands of cells are measured while the user waits, and laying out their texts, as the style does,
  /// takes several times longer than finding how wide they are.
  QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    if (index.data(Qt::DecorationRole).isValid())
      return QStyledItemDelegate::sizeHint(option, index) + QSize(2 * kCellPadding, 0);
    int wide = option.fontMetrics.horizontalAdvance(index.data(Qt::DisplayRole).toString());
    if (index.data(SectionTableModel::kShareRole).isValid()) wide += kBarIndent + kBarWidth + kBarGap;
    return {wide + 2 * marginOf(option), row_};
  }

 private:
  static int marginOf(const QStyleOptionViewItem& option) {
    const QStyle* style = option.widget != nullptr ? option.widget->style() : QApplication::style();
    return style->pixelMetric(QStyle::PM_FocusFrameHMargin, &option, option.widget) + 1 + kCellPadding;
  }

  void drawBar(QPainter* painter, const QStyleOptionViewItem& option, double share) const {
    constexpr int kHeight = 9;
    const QRect& cell = option.rect;
    const int figure = option.fontMetrics.horizontalAdvance(QStringLiteral("100.0 %")) + 2 * marginOf(option);
    const int left = std::max(cell.left() + kBarIndent, cell.right() + 1 - figure - kBarGap - kBarWidth);
    const QRect whole(left, cell.center().y() - kHeight / 2, kBarWidth, kHeight);
    painter->fillRect(whole, palette_.ui(shell::Ui::grid));
    const int length = static_cast<int>(std::lround(kBarWidth * std::clamp(share, 0.0, 1.0)));
    painter->fillRect(QRect(whole.topLeft(), QSize(length, kHeight)), palette_.ui(shell::Ui::accent));
  }

  const shell::Palette& palette_;
  int row_ = kDataTableRow;
};

/// Makes headings as wide as their names. The arrow of a sorted column is drawn above the name, not beside
/// it.
class TableHeader : public QHeaderView {
 public:
  explicit TableHeader(QWidget* parent) : QHeaderView(Qt::Horizontal, parent) { setSectionsClickable(true); }

 protected:
  QSize sectionSizeFromContents(int section) const override {
    constexpr int kMargins = 13, kOneLine = 25;
    int wide = 0, lines = 0;
    for (const QString& line :
         model()->headerData(section, Qt::Horizontal).toString().split(QLatin1Char('\n'))) {
      wide = std::max(wide, fontMetrics().horizontalAdvance(line));
      ++lines;
    }
    const int tall = QHeaderView::sectionSizeFromContents(section).height();
    return {wide + kMargins, std::max(tall, (lines - 1) * fontMetrics().lineSpacing() + kOneLine)};
  }
};

/// Rows without a value come last, in whichever order the others are. Numbers within texts count by value.
class EmptyLast : public QSortFilterProxyModel {
 public:
  using QSortFilterProxyModel::QSortFilterProxyModel;

 protected:
  bool lessThan(const QModelIndex& left, const QModelIndex& right) const override {
    const bool hasLeft = left.data(sortRole()).isValid(), hasRight = right.data(sortRole()).isValid();
    if (hasLeft != hasRight) return (sortOrder() == Qt::AscendingOrder) == hasLeft;
    const QVariant a = left.data(sortRole()), b = right.data(sortRole());
    if (a.userType() == QMetaType::QString && b.userType() == QMetaType::QString)
      return base::NaturalLess()(a.toString().toStdString(), b.toString().toStdString());
    return QSortFilterProxyModel::lessThan(left, right);
  }
  /// A row is found by what it shows, and by the whole texts of cells that are shown shorter.
  bool filterAcceptsRow(int row, const QModelIndex& parent) const override {
    if (QSortFilterProxyModel::filterAcceptsRow(row, parent)) return true;
    for (int column = 0; column < sourceModel()->columnCount(parent); ++column) {
      if (filterKeyColumn() >= 0 && column != filterKeyColumn()) continue;
      const QModelIndex cell = sourceModel()->index(row, column, parent);
      if (filterRegExp().indexIn(cell.data(kFullTextRole).toString()) >= 0) return true;
    }
    return false;
  }
};

}  // namespace pipescope::pages
