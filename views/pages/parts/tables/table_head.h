#pragma once
#include <QWidget>

#include "views/shell/look/palette.h"

class QHBoxLayout;
class QLabel;
class QLineEdit;

namespace pipescope::shell {
class HelpMark;
}  // namespace pipescope::shell

namespace pipescope::pages {

class ComparedColumns;

/// Head above a table: its title and denominator, the choice of the figure in a comparison, the number of
/// rows, and the filter.
class TableHead : public QWidget {
  Q_OBJECT

 public:
  explicit TableHead(const shell::Palette& palette, QWidget* parent = nullptr);

  void setTitle(const QString& title, const QString& basis);
  QString title() const;
  /// Says how many of all rows pass the filter.
  void setCount(int passing, int all);
  /// Shows or hides the number of rows and the filter.
  void setFilterVisible(bool visible);
  void addTool(QWidget* tool);
  QLineEdit* filter() const { return filter_; }
  ComparedColumns* figure() const { return figure_; }

 private:
  void follow();

  QHBoxLayout* row_;
  QLabel *title_, *basis_, *count_;
  ComparedColumns* figure_;
  QLineEdit* filter_;
  shell::HelpMark* help_;
};

}  // namespace pipescope::pages
