#pragma once
#include <QWidget>
#include <vector>

#include "views/pages/parts/tree_model.h"
#include "views/shell/palette.h"

class QLabel;
class QLineEdit;
class QSortFilterProxyModel;
class QTreeView;

namespace pipescope::pages {

/// A tree with columns of figures, its title and denominator above. It filters rows with all that lies above
/// and below them, sorts by a click on a heading, and copies rows.
class TreeTable : public QWidget {
  Q_OBJECT

 public:
  explicit TreeTable(const shell::Palette& palette, QWidget* parent = nullptr);

  void setRows(TreeRows rows, double ticksPerShownUnit = 1);
  void setMarks(std::vector<QPixmap> marks);
  /// Opens the tree to this depth; 0: only the roots are shown.
  void openTo(int depth);
  void openAll();
  /// Selects a row of the model and opens what lies above it; −1: none.
  void markRow(int row);
  /// The selected row of the model; −1: none.
  int markedRow() const;
  void setColumnShown(int column, bool shown);
  /// Makes the tree about as tall as this number of rows; 0: as tall as there is room.
  void setRowsShown(int rows);

  TreeModel* model() const { return model_; }
  QSortFilterProxyModel* shown() const { return proxy_; }
  QTreeView* view() const { return view_; }
  QLineEdit* filter() const { return filter_; }
  QString title() const;

 Q_SIGNALS:
  void rowActivated(int row);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void applyFilter(const QString& text);
  void countRows(int rows);
  void fitName();
  void setCompact(bool compact);
  int othersNeed() const;
  int extraRoom() const;
  int columnNeeds(int column) const;
  void copy() const;
  void follow();

  const shell::Palette& palette_;
  TreeModel* model_;
  QSortFilterProxyModel* proxy_;
  QLabel *title_, *basis_, *count_;
  QLineEdit* filter_;
  QTreeView* view_;
  int depth_ = 0;
  bool compact_ = false;           ///< in a smaller font, because there is little room
  int extra_ = 0;                  ///< free room that each column of figures has got
  std::vector<int> wholeColumns_;  ///< widths of the columns in the usual font
};

}  // namespace pipescope::pages
