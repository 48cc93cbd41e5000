#include "views/pages/parts/trace/trace_tabs.h"

#include <QHBoxLayout>
#include <QLineEdit>
#include <QScrollArea>
#include <QVBoxLayout>

#include "views/pages/parts/tables/data_table.h"
#include "views/pages/parts/tables/range_table.h"
#include "views/pages/parts/tables/tile_table.h"
#include "views/pages/parts/trace/trace_details.h"

namespace pipescope::pages {

namespace {
enum Tab { sums, selected, units, names, host };
}

TraceTabs::TraceTabs(const shell::Palette& palette, QWidget* parent)
    : QTabWidget(parent),
      table_(new RangeTable(palette, this)),
      details_(new TraceDetails(palette, this)),
      tiles_(new TileTable(palette, this)),
      found_(new DataTable(palette, this)) {
  setDocumentMode(true);
  setMinimumHeight(120);
  const auto addTable = [this](QWidget* table, const QString& title) {
    auto* tab = new QWidget(this);
    auto* layout = new QVBoxLayout(tab);
    layout->setContentsMargins(8, 4, 8, 4);
    layout->addWidget(table);
    addTab(tab, title);
  };
  addTable(table_, tr("Summary"));
  auto* scroll = new QScrollArea(this);
  scroll->setFrameShape(QFrame::NoFrame);
  scroll->setWidgetResizable(true);
  scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  scroll->setWidget(details_);
  addTab(scroll, tr("Details"));
  addTab(tiles_, tr("Tiles"));
  addTable(found_, tr("Found"));
  hideFound();
  addFilter();
}

void TraceTabs::addFilter() {
  auto* corner = new QWidget(this);
  auto* layout = new QHBoxLayout(corner);
  layout->setContentsMargins(0, 3, 8, 3);
  auto* filter = new QLineEdit(corner);
  layout->addWidget(filter);
  filter->setPlaceholderText(tr("Filter devices"));
  filter->setAccessibleName(tr("Filter devices"));
  filter->setClearButtonEnabled(true);
  filter->setFixedWidth(180);
  connect(filter, &QLineEdit::textChanged, table_, &RangeTable::filter);
  connect(this, &QTabWidget::currentChanged, filter,
          [filter](int tab) { filter->setVisible(tab == Tab::sums); });
  setCornerWidget(corner);
}

void TraceTabs::setTilesPossible(bool possible) {
  setTabVisible(Tab::units, possible);
}

void TraceTabs::addHost(QWidget* added) {
  addTab(added, tr("Host"));
  setTabVisible(Tab::host, false);
}

void TraceTabs::setHostPossible(bool possible) {
  if (!possible && currentIndex() == Tab::host) setCurrentIndex(Tab::sums);
  setTabVisible(Tab::host, possible);
}

void TraceTabs::showFound() {
  setTabVisible(Tab::names, true);
  setCurrentIndex(Tab::names);
}

void TraceTabs::hideFound() {
  if (currentIndex() == Tab::names) setCurrentIndex(Tab::selected);
  setTabVisible(Tab::names, false);
}

void TraceTabs::setMeasured(bool measured) {
  setTabText(Tab::sums, measured ? tr("Measured span") : tr("Summary"));
  if (measured) setCurrentIndex(Tab::sums);
}

void TraceTabs::showDetails() {
  if (currentIndex() == Tab::sums) setCurrentIndex(Tab::selected);
}

}  // namespace pipescope::pages
