#pragma once
#include <QAbstractTableModel>
#include <set>

#include "profiler/analysis/timeline/trace.h"
#include "profiler/geometry/timeline/time_axis.h"

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
  /// False if the trace has nothing that the column of bytes would show at any time, for example because it
  /// was recorded without sizes.
  bool fills(int column) const { return filled_.contains(column); }
  /// True if some device consists of units, which can be unequally busy.
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
  /// Finds the columns of bytes that the trace or the rows fill. A column that was filled once stays while a
  /// trace is read in parts.
  void findFilled(bool anew);

  std::shared_ptr<const analysis::Trace> trace_;
  std::vector<analysis::RangeStatistics> rows_;
  geometry::TimeScale scale_;
  std::set<int> filled_;  ///< columns of bytes
  bool compact_ = false;
  QString unit_;  ///< name of the units of devices that have several, such as tile
};

}  // namespace pipescope::pages
