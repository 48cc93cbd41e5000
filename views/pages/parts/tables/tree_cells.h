#pragma once
// Drawing of the rows of a TreeTable.
#include <QPainter>
#include <QStyledItemDelegate>

#include "views/shell/look/palette.h"

namespace pipescope::pages {

inline constexpr int kTreeRow = 23, kTreeCellPadding = 3;

/// Draws rows as tall and selected rows as coloured as those of a DataTable, and leaves room between columns.
class TreeDelegate : public QStyledItemDelegate {
 public:
  TreeDelegate(const shell::Palette& palette, QObject* parent)
      : QStyledItemDelegate(parent), palette_(palette) {}

  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    if (option.state & QStyle::State_Selected)
      painter->fillRect(option.rect, palette_.ui(shell::Ui::selection));
    QStyleOptionViewItem plain = option;
    plain.state &= ~(QStyle::State_HasFocus | QStyle::State_Selected);
    if (index.column() > 0) plain.rect.adjust(kTreeCellPadding, 0, -kTreeCellPadding, 0);
    QStyledItemDelegate::paint(painter, plain, index);
  }

  QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    QSize size = QStyledItemDelegate::sizeHint(option, index);
    size.setHeight(kTreeRow);
    return size;
  }

 private:
  const shell::Palette& palette_;
};

}  // namespace pipescope::pages
