#pragma once
#include <QWidget>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "views/pages/parts/tables/tree_model.h"
#include "views/shell/beside.h"
#include "views/shell/look/palette.h"
#include "views/shell/selection.h"

class QLineEdit;
class QMenu;
class QSortFilterProxyModel;
class QTreeView;

namespace pipescope::pages {

class RowSelection;
class TableHead;

/// A tree with columns of figures, its title and denominator above. It filters rows with all that lies above
/// and below them, sorts by a click on a heading, and copies rows. In a comparison it has the figures of both
/// profiles.
class TreeTable : public QWidget, public shell::Beside {
  Q_OBJECT

 public:
  static constexpr int kMostOpen = 50'000;

  explicit TreeTable(const shell::Palette& palette, QWidget* parent = nullptr);

  void setRows(TreeRows rows, double ticksPerShownUnit = 1);
  void setMarks(std::vector<QPixmap> pictures, RowMarks marks);
  /// Opens the tree to this depth, or less deep if more than `most` rows would be visible; 0: only the roots
  /// are shown. Returns the depth to which it is open; `depth` if nothing lies deeper.
  int openTo(int depth, int most = kMostOpen);
  /// Selects a row of the model and opens what lies above it; −1: none.
  void markRow(int row);
  /// The selected row of the model; −1: none.
  int markedRow() const;
  /// Sets what rows are about: the subject of a row, and the row about a selection (−1: none).
  void setSubjects(std::function<shell::Selected(int row)> subject,
                   std::function<int(const shell::Selected&)> find);
  /// The menu of a row of the model; −1: of none.
  QMenu* makeRowMenu(int row);
  /// The names of a row and of those around it, joined by "/".
  QString pathOf(int row) const;
  /// The row of this path, or else the nearest around it; −1: none.
  int rowOfPath(const QString& path) const;
  /// `column` is one of the rows that were set.
  void setColumnShown(int column, bool shown);
  /// Columns, by key, that are hidden one after the other where names would otherwise be cut off.
  void setYielding(std::vector<std::string> keys) { yielding_ = std::move(keys); }
  /// Says if the tree may show another profile's figures. It may not if it depends on what is selected.
  void setComparable(bool comparable) { comparable_ = comparable; }
  QString besideName() const override;
  void showBeside(const shell::Beside* source, const shell::BesideTerms& terms) override;
  /// Makes the tree about as tall as this number of rows; 0: as tall as there is room.
  void setRowsShown(int rows);

  TreeModel* model() const { return model_; }
  /// The rows that were set, without the figures of another profile.
  const TreeRows& ownRows() const { return *own_; }
  QSortFilterProxyModel* shown() const { return proxy_; }
  QTreeView* view() const { return view_; }
  QLineEdit* filter() const;
  QString title() const;

 Q_SIGNALS:
  void rowActivated(int row);  ///< never one that only the source has
  void rowFollowed(int row);   ///< the row is about what was selected elsewhere

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void showRows(const std::shared_ptr<const TreeRows>& rows, bool sameMarks);
  void merge();
  void applyFigure();
  void activate(int row);
  void applyFilter(const QString& text);
  void countRows(int rows);
  std::vector<bool> countedRows() const;
  int allRows() const;
  void fitName();
  int namesNeed() const;
  void yieldColumns();
  void setCompact(bool compact);
  int othersNeed() const;
  int extraRoom() const;
  int columnNeeds(int column) const;
  void copy() const;
  shell::Selected subjectAt(int row) const;

  TreeModel* model_;
  QSortFilterProxyModel* proxy_;
  TableHead* head_;
  QTreeView* view_;
  std::shared_ptr<const TreeRows> own_ = withShape({});
  double perUnit_ = 1, sourceTicks_ = 1;
  std::shared_ptr<const TreeRows> source_;  ///< rows of the other profile
  int merges_ = 0;                          ///< counts what outdates a match that a worker makes
  std::int64_t revision_ = 0, sourceRevision_ = -1;
  std::set<std::string> hidden_;  ///< keys of columns
  int depth_ = 0, most_ = kMostOpen;
  bool compact_ = false;  ///< true in a smaller font, because there is little room
  bool comparable_ = true;
  int extra_ = 0;                  ///< free room that each column of figures has got
  std::vector<int> wholeColumns_;  ///< widths of the columns in the usual font
  int namesNeed_ = 0;              ///< width that the names need in it
  std::vector<std::string> yielding_;
  std::vector<int> yielded_;  ///< columns hidden for lack of room
  std::function<shell::Selected(int)> subject_;
  std::function<int(const shell::Selected&)> find_;
  RowSelection* selection_;
};

}  // namespace pipescope::pages
