#pragma once
#include <QWidget>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "profiler/geometry/timeline/time_axis.h"
#include "profiler/sections/frame/section.h"
#include "views/shell/beside.h"
#include "views/shell/growing.h"
#include "views/shell/look/palette.h"
#include "views/shell/selection.h"

class QLineEdit;
class QMenu;
class QSortFilterProxyModel;
class QTableView;
class QToolButton;
class QVBoxLayout;

namespace pipescope::pages {

class ColumnFit;
class RowSelection;
class ShareDelegate;
class SectionTableModel;
class TableHead;

/// A table with its title and denominator above. It sorts by a click on a heading, filters rows, and its menu
/// ("⋯" or a right click) selects columns, copies rows and saves CSV. In a comparison it has the figures of
/// both profiles, and a choice of the figure.
/// In a tall window, its rows become taller.
class DataTable : public QWidget, public shell::Beside, public shell::Growing {
  Q_OBJECT

 public:
  explicit DataTable(const shell::Palette& palette, QWidget* parent = nullptr);
  ~DataTable() override;

  void setTable(sections::SectionTable table, double ticksPerShownUnit = 1,
                std::optional<geometry::TimeScale> times = {});
  void setMarks(std::vector<QPixmap> marks);
  void setFilterVisible(bool visible);
  /// Makes the table as tall as its rows, up to `rows` or, in a tall window, up to 1 ÷ `share` of its height.
  /// `rows` = 0: as tall as there is room.
  void setRowsShown(int rows, int share = 2);
  Heights heights() const override;
  Turn turn() const override { return Turn::texts; }
  void growTo(int height) override;
  /// Says if the table may show another profile's figures. It may not if it depends on what is selected.
  void setComparable(bool comparable) { comparable_ = comparable; }
  QString besideName() const override;
  void showBeside(const shell::Beside* source, const shell::BesideTerms& terms) override;
  /// The keys of columns that a table hides until the menu shows them again.
  using HiddenColumns = std::function<std::set<std::string>(const sections::SectionTable& table)>;
  /// Hides these columns of each table that is set from now on. They are not measured, which takes long.
  void setHidden(HiddenColumns hides);
  /// Columns, by key, that are hidden one after the other if the table would otherwise scroll sideways. The
  /// button of the menu says how many are; the menu shows them again, and CSV always has them.
  void setYielding(std::vector<std::string> keys);
  /// The largest share of a column gets the longest bar, in tables of many small shares. Call it first.
  void setBarsToLargest();
  void sortBy(int column, Qt::SortOrder order);
  /// Selects a row of the model and scrolls to it; −1: none.
  void markRow(int row);
  QString csv() const;  ///< see tableCsv()
  QMenu* makeMenu();
  /// The menu of a row of the model: what addSubjectActions() offers, and below it the menu of the table.
  QMenu* makeRowMenu(int row);

  SectionTableModel* model() const { return model_; }
  QSortFilterProxyModel* shown() const { return proxy_; }
  QTableView* view() const { return view_; }
  QLineEdit* filter() const;
  /// Filters rows by one column until the user types something else.
  void filterBy(const QString& text, const char* column);
  QString title() const;

 Q_SIGNALS:
  /// A double click, or Return, on a row that is about nothing that the trace can show.
  void rowOpened(int row);
  void rowActivated(int row);  ///< row of the model, not of the sorted view; never one of the source only
  void rowFollowed(int row);   ///< the row is about what was selected elsewhere

 protected:
  void showEvent(QShowEvent* event) override;
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void fillMenu(QMenu& menu);
  void showTable(sections::SectionTable table);
  void merge();
  void showPanel();
  void applyFigure();
  void chooseColumns();
  void activate(int row);
  QString nameOf(int row) const;
  shell::Selected subjectAt(int row) const;
  void fitColumns();
  void tellYielded();
  void wrapTexts();
  void fitHeight();
  void fillHeight();
  void setRowHeight(int height);
  int rowsVisible() const;
  static int tallestRow(const QWidget& window);
  void countRows();

  SectionTableModel* model_;
  QSortFilterProxyModel* proxy_;
  int filterColumn_ = -1;  ///< −1: all columns
  TableHead* head_;
  QTableView* view_;
  QToolButton* more_;
  sections::SectionTable own_;
  double perUnit_ = 1;
  std::optional<geometry::TimeScale> times_;
  std::optional<sections::SectionTable> source_;  ///< table of the other profile
  double sourceTicks_ = 1;
  int merges_ = 0;                                   ///< counts what outdates a match that a worker makes
  std::int64_t revision_ = 0, sourceRevision_ = -1;  ///< revision of own_, and of the table in source_
  HiddenColumns hides_;
  std::set<std::string> hidden_;  ///< keys of columns
  bool comparable_ = true;
  bool shownForSource_ = false;  ///< the panel is visible only because the other profile has rows
  int rowsShown_ = 0, windowShare_ = 2;
  ShareDelegate* cells_;  ///< knows the height of a row
  std::unique_ptr<ColumnFit> columns_;
  RowSelection* selection_;
};

/// Adds a panel with a table of so many visible rows to the column of a page.
DataTable* addTablePanel(const shell::Palette& palette, QVBoxLayout& column, int rows, QWidget* page);

}  // namespace pipescope::pages
