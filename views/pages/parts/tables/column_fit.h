#pragma once
#include <QFont>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "views/pages/parts/tables/section_table_model.h"

class QTableView;

namespace pipescope::pages {

/// Gives the columns of a table their widths. If room is short, bars go first, then texts become narrower,
/// then figures and headings shorter, then columns that may give way are hidden, and only then the table
/// scrolls sideways.
class ColumnFit {
 public:
  ColumnFit(QTableView& view, SectionTableModel& model) : view_(view), model_(model) {}

  /// Columns, by key, that are hidden one after the other if the table would otherwise scroll sideways.
  void setYielding(std::vector<std::string> keys) { yielding_ = std::move(keys); }
  void fit(const QFont& font);
  /// The table has changed. The columns are fitted anew when it is shown.
  void outdate() { fittedTo_ = kUnfitted; }
  bool isFitted() const { return fittedTo_ != kUnfitted; }
  int fittedTo() const { return fittedTo_; }  ///< pixels of the view's width
  bool isFitting() const { return fitting_; }
  bool scrolls() const { return scrolls_; }                     ///< sideways
  const std::vector<int>& yielded() const { return yielded_; }  ///< columns hidden for lack of room
  void forgetYielded() { yielded_.clear(); }
  /// The lines that the texts of a row of the view need in their columns.
  int linesOf(int row) const;

 private:
  static constexpr int kUnfitted = -1;

  void showYielded();
  bool yieldColumn();
  int measureColumns(SectionTableModel::Widths widths);
  bool isText(int column) const;
  int squeezeTexts(int over, int least);
  bool fitsCompactly(int least);
  void fitShown();
  void shareRoom(int widest, int room);
  void shareEvenly(int room);

  QTableView& view_;
  SectionTableModel& model_;
  QFont font_;
  std::vector<std::string> yielding_;
  std::vector<int> compactWidths_;  ///< widths that the columns need in the smaller font; empty: not measured
  std::vector<int> yielded_;
  std::set<std::string> demanded_;  ///< columns that the menu has shown although there was no room
  bool fitting_ = false;
  bool scrolls_ = false;
  int fittedTo_ = kUnfitted;
};

}  // namespace pipescope::pages
