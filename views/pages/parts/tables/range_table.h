#pragma once
#include <QTableView>
#include <set>

#include "views/pages/parts/tables/range_model.h"
#include "views/shell/look/palette.h"

class QMenu;
class QSortFilterProxyModel;

namespace pipescope::pages {

/// A view of the table that sorts by a click on a heading. A right click copies rows or saves CSV.
class RangeTable : public QTableView {
  Q_OBJECT

 public:
  explicit RangeTable(const shell::Palette& palette, QWidget* parent = nullptr);
  RangeModel* ranges() const { return model_; }
  /// Shows only devices whose name contains the text.
  void filter(const QString& text);
  QMenu* makeMenu();
  /// Fits the columns to their texts. Called when the profile changes, not while the range moves.
  void fitColumns();

 protected:
  void resizeEvent(QResizeEvent* event) override;
  void contextMenuEvent(QContextMenuEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  /// Sets the widths of all columns but that of the proportions. Returns what is left for those.
  int fitOthers(bool compact);

  RangeModel* model_;
  QSortFilterProxyModel* proxy_;
  std::set<int> hidden_;  ///< columns that fitColumns() has hidden, because nothing is in them
};

}  // namespace pipescope::pages
