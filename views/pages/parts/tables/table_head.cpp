#include "views/pages/parts/tables/table_head.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>

#include "views/pages/parts/data/text.h"
#include "views/pages/parts/tables/compared_columns.h"
#include "views/shell/help/help_mark.h"

namespace pipescope::pages {

TableHead::TableHead(const shell::Palette& palette, QWidget* parent)
    : QWidget(parent),
      row_(new QHBoxLayout(this)),
      title_(new QLabel(this)),
      basis_(new QLabel(this)),
      count_(new QLabel(this)),
      figure_(new ComparedColumns(this)),
      filter_(new QLineEdit(this)),
      help_(new shell::HelpMark(palette, this)) {
  row_->setContentsMargins(0, 0, 0, 0);
  row_->setSpacing(10);
  row_->addWidget(title_);
  row_->addWidget(basis_, 1);
  row_->addWidget(figure_);
  row_->addWidget(count_);
  row_->addWidget(filter_);
  row_->addWidget(help_);
  basis_->setWordWrap(true);  // a long one must not make the page wider than the window
  filter_->setPlaceholderText(tr("Filter"));
  filter_->setClearButtonEnabled(true);
  filter_->setObjectName(QStringLiteral("table_filter"));
  filter_->setAccessibleName(tr("Filter"));
  filter_->setMaximumWidth(220);
  filter_->setMinimumWidth(90);
  connect(&palette, &shell::Palette::changed, this, &TableHead::follow);
  follow();
}

void TableHead::setTitle(const QString& title, const QString& basis) {
  title_->setText(title);
  basis_->setText(basis);
  help_->setTitle(title);
}

QString TableHead::title() const {
  return title_->text();
}

void TableHead::setCount(int passing, int all) {
  filter_->setProperty("rows", passing);
  count_->setText(passing != all ? tr("%1 of %2").arg(groupedCount(passing), groupedCount(all))
                  : all == 1     ? tr("1 row")
                                 : tr("%1 rows").arg(groupedCount(all)));
}

void TableHead::setFilterVisible(bool visible) {
  filter_->setVisible(visible);
  count_->setVisible(visible);
}

void TableHead::addTool(QWidget* tool) {
  row_->insertWidget(row_->count() - 1, tool);
}

void TableHead::follow() {
  QFont bold = font();
  bold.setBold(true);
  title_->setFont(bold);
  shell::Palette::makeQuiet(*basis_);
  shell::Palette::makeQuiet(*count_);
}

}  // namespace pipescope::pages
