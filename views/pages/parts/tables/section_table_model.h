#pragma once
#include <QAbstractTableModel>
#include <QFont>
#include <QPixmap>
#include <map>
#include <optional>

#include "profiler/geometry/timeline/time_axis.h"
#include "profiler/sections/frame/section.h"

namespace pipescope::pages {

/// A table of a report section as a Qt model. kSortRole has the value for sorting, kShareRole the value of a
/// fraction for delegates that draw it, kChangeRole whether a change of a time or of bytes is one for the
/// better (−1) or for the worse (1), and the roles of table_menu.h plain numbers, units and whole texts. Long
/// names of ranks are shown without what all of them have in common; tool tips and copied texts have the
/// whole names.
class SectionTableModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  static constexpr int kSortRole = Qt::UserRole, kShareRole = Qt::UserRole + 1,
                       kChangeRole = Qt::UserRole + 2;

  /// Widths of cells and headings. A table that lacks room first leaves out its bars, then shortens texts.
  enum class Widths : std::uint8_t { bars, noBars, compact };

  using QAbstractTableModel::QAbstractTableModel;
  /// If false, less time or memory is not marked as better, because the two runs did different work.
  void setCostsJudged(bool judged) { costsJudged_ = judged; }
  /// `times` says how to show ticks; without it they are numbers.
  void setTable(sections::SectionTable table, double ticksPerShownUnit = 1,
                std::optional<geometry::TimeScale> times = {});
  /// A compact table has times with three digits ("1.23 M") and headings on two lines. Tool tips then have
  /// the exact times.
  void setWidths(Widths widths, const QFont& headings);
  /// If true, the largest share of a column has the longest bar. Otherwise that stands for the whole.
  void setBarsToLargest(bool toLargest) { barsToLargest_ = toLargest; }
  /// Sets a picture for the first column of each row.
  void setMarks(std::vector<QPixmap> marks);
  const sections::SectionTable& table() const { return table_; }

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  bool compact() const { return widths_ == Widths::compact; }
  const sections::Cell* cell(const QModelIndex& index) const;
  bool isNumber(int column) const;
  bool holdsNumbers(std::size_t column) const;
  bool holdsShares(std::size_t column) const;
  sections::Format formatOf(const QModelIndex& index) const;
  QString textOf(const sections::Cell& value, const QModelIndex& index, bool compact = false) const;
  void shortenNames(std::size_t column);

  sections::SectionTable table_;
  std::vector<QPixmap> marks_;
  double ticksPerShownUnit_ = 1;
  std::vector<int> decimals_;  ///< decimals of ticks and plain numbers in each column
  std::vector<bool> numbers_;  ///< true for a column that holds numbers
  std::vector<bool> shares_;   ///< true for a column that holds shares, which have bars
  std::vector<std::map<std::string, QString>> shortNames_;  ///< by column: names that are shown shorter
  std::vector<double> wholes_;  ///< the share of each column that has the longest bar
  std::optional<geometry::TimeScale> times_;
  Widths widths_ = Widths::bars;
  bool costsJudged_ = true, barsToLargest_ = false;
  QFont headingFont_;  ///< font of the headings of a compact table
};

}  // namespace pipescope::pages
