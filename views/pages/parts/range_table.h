#pragma once
#include <QAbstractTableModel>
#include <QTableView>

#include "profiler/analysis/trace.h"
#include "profiler/geometry/time_axis.h"
#include "views/shell/palette.h"

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

  using QAbstractTableModel::QAbstractTableModel;
  void setRows(std::shared_ptr<const analysis::Trace> trace, std::vector<analysis::RangeStatistics> rows,
               const geometry::TimeScale& scale);
  const std::vector<analysis::RangeStatistics>& rows() const { return rows_; }

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  QString text(const analysis::RangeStatistics& row, int column) const;
  QVariantList parts(const analysis::RangeStatistics& row) const;

  std::shared_ptr<const analysis::Trace> trace_;
  std::vector<analysis::RangeStatistics> rows_;
  geometry::TimeScale scale_;
};

class RangeTable : public QTableView {
  Q_OBJECT

 public:
  explicit RangeTable(const shell::Palette& palette, QWidget* parent = nullptr);
  RangeModel* ranges() const { return model_; }
  /// Widths that the texts need; called when the profile changes, not while the range moves.
  void fitColumns();

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  RangeModel* model_;
};

}  // namespace pipescope::pages
