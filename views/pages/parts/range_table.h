#pragma once
#include <QAbstractTableModel>
#include <QTableView>

#include "profiler/analysis/timeline/trace.h"
#include "profiler/geometry/time_axis.h"
#include "views/shell/palette.h"

class QMenu;
class QSortFilterProxyModel;

namespace pipescope::pages {

/// What each device did in the visible stretch of time.
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
  /// Of `proportions`: a QVariantList of pairs role, share. Of `balance` and `efficiency`: the share.
  static constexpr int kValueRole = Qt::UserRole;
  static constexpr int kSortRole = Qt::UserRole + 1;

  using QAbstractTableModel::QAbstractTableModel;
  void setRows(std::shared_ptr<const analysis::Trace> trace, std::vector<analysis::RangeStatistics> rows,
               const geometry::TimeScale& scale);
  const std::vector<analysis::RangeStatistics>& rows() const { return rows_; }
  /// The whole trace's length: no figure of time is longer.
  QString longestTime() const;
  /// Some device consists of units, which may be more or less busy.
  bool hasUnits() const { return !unit_.isEmpty(); }

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  QString text(const analysis::RangeStatistics& row, int column) const;
  /// What the proportions are, in words.
  QStringList proportionsText(const analysis::RangeStatistics& row) const;
  QVariant sortValue(const analysis::RangeStatistics& row, int column) const;
  QVariantList parts(const analysis::RangeStatistics& row) const;

  std::shared_ptr<const analysis::Trace> trace_;
  std::vector<analysis::RangeStatistics> rows_;
  geometry::TimeScale scale_;
  QString unit_;  ///< of the devices that have several: tile
};

/// Sorts by a click on a heading, copies rows and saves as CSV by a right click.
class RangeTable : public QTableView {
  Q_OBJECT

 public:
  explicit RangeTable(const shell::Palette& palette, QWidget* parent = nullptr);
  RangeModel* ranges() const { return model_; }
  /// Only devices whose name contains the text.
  void filter(const QString& text);
  QMenu* makeMenu();
  /// Widths that the texts need; called when the profile changes, not while the range moves.
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
