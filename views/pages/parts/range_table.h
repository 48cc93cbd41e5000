#pragma once
#include <QAbstractTableModel>
#include <QTableView>
#include <set>

#include "profiler/analysis/timeline/trace.h"
#include "profiler/geometry/time_axis.h"
#include "views/shell/palette.h"

class QMenu;
class QSortFilterProxyModel;

namespace pipescope::pages {

/// A table of what each device did in the visible time.
class RangeModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column {
    device,
    proportions,
    balance,
    efficiency,
    streamIn,
    streamOut,
    globalIn,
    globalOut,
    compute,
    idle,
    total,
    columns
  };
  /// The column `proportions` has a QVariantList of pairs of role and share; `balance` and `efficiency` have
  /// a share.
  static constexpr int kValueRole = Qt::UserRole;
  static constexpr int kSortRole = Qt::UserRole + 1;

  using QAbstractTableModel::QAbstractTableModel;
  void setRows(std::shared_ptr<const analysis::Trace> trace, std::vector<analysis::RangeStatistics> rows,
               const geometry::TimeScale& scale);
  const std::vector<analysis::RangeStatistics>& rows() const { return rows_; }
  /// The length of the whole trace as text. No time in the table is wider.
  QString longestTime() const;
  /// Writes cycles with three digits ("1.23 M"). Tool tips then have the exact numbers.
  void setCompact(bool compact);
  /// False if no device has sent or received anything that the column would show.
  bool hasBytes(int column) const;
  /// True where some device consists of units, which can be unequally busy.
  bool hasUnits() const { return !unit_.isEmpty(); }

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  QString text(const analysis::RangeStatistics& row, int column, bool compact = false) const;
  /// Describes the proportions in words.
  QStringList proportionsText(const analysis::RangeStatistics& row) const;
  QVariant sortValue(const analysis::RangeStatistics& row, int column) const;
  QVariantList parts(const analysis::RangeStatistics& row) const;

  std::shared_ptr<const analysis::Trace> trace_;
  std::vector<analysis::RangeStatistics> rows_;
  geometry::TimeScale scale_;
  bool compact_ = false;
  QString unit_;  ///< name of the units of devices that have several, such as tile
};

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
