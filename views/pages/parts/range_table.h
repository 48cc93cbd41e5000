#pragma once
#include <QAbstractTableModel>
#include <QTableView>

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
  /// True where some device consists of units, which can be unequally busy.
  bool hasUnits() const { return !unit_.isEmpty(); }

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  QString text(const analysis::RangeStatistics& row, int column) const;
  /// Describes the proportions in words.
  QStringList proportionsText(const analysis::RangeStatistics& row) const;
  QVariant sortValue(const analysis::RangeStatistics& row, int column) const;
  QVariantList parts(const analysis::RangeStatistics& row) const;

  std::shared_ptr<const analysis::Trace> trace_;
  std::vector<analysis::RangeStatistics> rows_;
  geometry::TimeScale scale_;
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
  RangeModel* model_;
  QSortFilterProxyModel* proxy_;
};

}  // namespace pipescope::pages
