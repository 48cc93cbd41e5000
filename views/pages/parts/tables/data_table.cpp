#include "views/pages/parts/tables/data_table.h"

#include <QHeaderView>
#include <QKeyEvent>
#include <QLineEdit>
#include <QMenu>
#include <QPainter>
#include <QScrollBar>
#include <QTableView>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>

#include "profiler/sections/frame/table_beside.h"
#include "views/pages/parts/data/text.h"
#include "views/pages/parts/layout/panel.h"
#include "views/pages/parts/tables/column_fit.h"
#include "views/pages/parts/tables/compared_columns.h"
#include "views/pages/parts/tables/data_table_cells.h"
#include "views/pages/parts/tables/row_menu.h"
#include "views/pages/parts/tables/row_subject.h"
#include "views/pages/parts/tables/section_table_model.h"
#include "views/pages/parts/tables/table_head.h"
#include "views/pages/parts/tables/table_menu.h"
#include "views/pages/parts/tables/time_unit.h"
#include "views/shell/background.h"
#include "views/shell/look/wheel.h"

namespace pipescope::pages {

using shell::Ui;

namespace {

constexpr int kMeasuredRows = 120, kWrappedRows = 60, kWrappedRoom = 4;

}  // namespace

DataTable::DataTable(const shell::Palette& palette, QWidget* parent)
    : QWidget(parent),
      model_(new SectionTableModel(this)),
      proxy_(new EmptyLast(this)),
      head_(new TableHead(palette, this)),
      view_(new QTableView(this)),
      more_(new QToolButton(this)),
      cells_(new ShareDelegate(palette, view_)),
      columns_(std::make_unique<ColumnFit>(*view_, *model_)),
      selection_(new RowSelection(
          *this,
          [this](const shell::Selected& selected, const analysis::Catalog* catalog) {
            return rowAbout(selected, own_, catalog);
          },
          [this](int row) {
            markRow(row);
            if (row >= 0) Q_EMIT rowFollowed(row);
          })) {
  proxy_->setSourceModel(model_);
  proxy_->setSortRole(SectionTableModel::kSortRole);
  proxy_->setFilterKeyColumn(-1);
  proxy_->setFilterCaseSensitivity(Qt::CaseInsensitive);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(6);
  layout->addWidget(head_);
  head_->addTool(more_);
  more_->setAutoRaise(true);
  more_->setText(QStringLiteral("⋯"));
  more_->setToolTip(tr("Columns, copy, save as CSV"));
  more_->setAccessibleName(tr("Table menu"));
  more_->setFocusPolicy(Qt::TabFocus);
  const auto popUp = [this](const QPoint& at) {
    QMenu* menu = makeMenu();
    menu->setAttribute(Qt::WA_DeleteOnClose);
    menu->popup(at);
  };
  connect(more_, &QToolButton::clicked, this, [this, popUp] {
    popUp(more_->mapToGlobal({0, more_->height()}));
  });
  view_->setHorizontalHeader(new TableHeader(view_));
  view_->setContextMenuPolicy(Qt::CustomContextMenu);
  view_->horizontalHeader()->setContextMenuPolicy(Qt::CustomContextMenu);
  connect(view_, &QWidget::customContextMenuRequested, this, [this](const QPoint& at) {
    const QModelIndex under = view_->indexAt(at);
    QMenu* menu = makeRowMenu(under.isValid() ? proxy_->mapToSource(under).row() : -1);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    menu->popup(view_->viewport()->mapToGlobal(at));
  });
  connect(view_->horizontalHeader(), &QWidget::customContextMenuRequested, this,
          [this, popUp](const QPoint& at) { popUp(view_->horizontalHeader()->mapToGlobal(at)); });
  layout->addWidget(view_, 1);
  setFilterVisible(false);
  view_->setModel(proxy_);
  view_->setItemDelegate(cells_);
  view_->setSortingEnabled(true);
  view_->sortByColumn(-1, Qt::AscendingOrder);
  view_->setSelectionBehavior(QAbstractItemView::SelectRows);
  view_->setSelectionMode(QAbstractItemView::ExtendedSelection);
  view_->setEditTriggers(QAbstractItemView::NoEditTriggers);
  view_->setShowGrid(false);
  view_->setWordWrap(false);
  view_->setTextElideMode(Qt::ElideRight);
  view_->setTabKeyNavigation(false);
  view_->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
  view_->verticalHeader()->hide();
  view_->verticalHeader()->setDefaultSectionSize(kDataTableRow);
  view_->horizontalHeader()->setHighlightSections(false);
  view_->horizontalHeader()->setMinimumSectionSize(kNarrowestColumn);
  view_->horizontalHeader()->setResizeContentsPrecision(kMeasuredRows);
  shell::giveWheelToPage(*view_);
  view_->installEventFilter(this);
  view_->viewport()->installEventFilter(this);
  connect(filter(), &QLineEdit::textChanged, this, [this](const QString& text) {
    const bool found = text.isEmpty() && proxy_->rowCount() > 0 && proxy_->rowCount() < model_->rowCount();
    const QModelIndexList chosen = view_->selectionModel()->selectedRows();
    const QModelIndex kept = chosen.isEmpty() ? proxy_->index(0, 0) : chosen.front();
    const int row = found ? proxy_->mapToSource(kept).row() : -1;
    proxy_->setFilterKeyColumn(filterColumn_);
    proxy_->setFilterFixedString(text);
    countRows();
    fitHeight();
    if (row >= 0) markRow(row);
  });
  connect(proxy_, &QAbstractItemModel::layoutChanged, this, &DataTable::fitHeight);
  // The stretched column follows the window after the others were fitted, and users move borders. The signal
  // comes before the header has all its new sizes.
  connect(
      view_->horizontalHeader(), &QHeaderView::sectionResized, this,
      [this] {
        if (!columns_->isFitting()) fitHeight();
      },
      Qt::QueuedConnection);
  connect(view_, &QTableView::clicked, this,
          [this](const QModelIndex& index) { activate(proxy_->mapToSource(index).row()); });
  connect(view_, &QTableView::doubleClicked, this, [this](const QModelIndex& index) {
    const int row = proxy_->mapToSource(index).row();
    const shell::Selected subject = subjectAt(row);
    if (subject.kind == shell::Selected::Kind::none) return Q_EMIT rowOpened(row);
    showSubject(*this, subject, QStringLiteral("trace"));
  });
  connect(head_->figure(), QOverload<int>::of(&QComboBox::activated), this, &DataTable::applyFigure);
  connect(&palette, &shell::Palette::changed, view_->viewport(), QOverload<>::of(&QWidget::update));
}

DataTable::~DataTable() = default;

void DataTable::filterBy(const QString& text, const char* column) {
  const auto& columns = model_->table().columns;
  const auto found = std::ranges::find(columns, column, &sections::SectionColumn::key);
  filter()->clear();
  filterColumn_ = found == columns.end() ? -1 : static_cast<int>(found - columns.begin());
  filter()->setText(text);
  filterColumn_ = -1;
}

QLineEdit* DataTable::filter() const {
  return head_->filter();
}

void DataTable::setTable(sections::SectionTable table, double ticksPerShownUnit,
                         std::optional<geometry::TimeScale> times) {
  own_ = std::move(table);
  perUnit_ = ticksPerShownUnit;
  times_ = times;
  ++revision_;
  if (!own_.rows.empty()) shownForSource_ = false;
  if (hides_) hidden_ = hides_(own_);
  ++merges_;
  source_ && source_->key == own_.key ? merge() : showTable(own_);
}

/// Shows the rows with the figures of the other profile. A worker matches those of long tables, and the own
/// rows are shown until then.
void DataTable::merge() {
  constexpr std::size_t kMatchedAtOnce = 2'000;
  if (own_.rows.size() + source_->rows.size() <= kMatchedAtOnce)
    return showTable(sections::withSource(own_, *source_, sourceTicks_));
  showTable(own_);
  shell::inBackground(
      this,
      [own = own_, source = *source_, ticks = sourceTicks_] {
        return sections::withSource(own, source, ticks);
      },
      [this, asked = merges_](sections::SectionTable&& merged) {
        if (asked == merges_) showTable(std::move(merged));
      });
}

QString DataTable::besideName() const {
  return comparable_ ? QString::fromStdString(own_.key) : QString();
}

void DataTable::showBeside(const shell::Beside* source, const shell::BesideTerms& terms) {
  const auto* other = dynamic_cast<const DataTable*>(source);
  if (other == nullptr && !source_) return;
  model_->setCostsJudged(terms.sameWork);
  if (other != nullptr && source_ && other->revision_ == sourceRevision_ && terms.ticks == sourceTicks_)
    return showPanel();
  source_.reset();
  sourceRevision_ = -1;
  if (other != nullptr) {
    source_ = other->own_;
    sourceRevision_ = other->revision_;
  }
  sourceTicks_ = terms.ticks;
  ++merges_;
  source_ ? merge() : showTable(own_);
  showPanel();
}

/// Pages hide the panel of a table without rows. It is shown while the other profile has some.
void DataTable::showPanel() {
  QWidget* panel = parentWidget();
  if (panel == nullptr) return;
  const bool onlySource = own_.rows.empty() && source_ && !source_->rows.empty();
  if (onlySource && panel->isHidden()) {
    panel->setVisible(true);
    shownForSource_ = true;
  } else if (!onlySource && shownForSource_) {
    panel->setVisible(false);
    shownForSource_ = false;
  }
}

void DataTable::activate(int row) {
  if (row < static_cast<int>(own_.rows.size()))
    selection_->choose(subjectAt(row), [this, row] { Q_EMIT rowActivated(row); });
}

shell::Selected DataTable::subjectAt(int row) const {
  // The model leaves out columns that text does not show, such as the indices of devices.
  const bool isOwn = row < static_cast<int>(own_.rows.size());
  return subjectOf(isOwn ? own_ : model_->table(), row, selection_->catalog());
}

/// Shows the chosen figure of both profiles, and the columns that are not hidden.
void DataTable::applyFigure() {
  chooseColumns();
  if (isVisible()) fitColumns();
}

void DataTable::chooseColumns() {
  columns_->forgetYielded();
  for (int c = 0; c < model_->columnCount(); ++c) {
    const std::string& key = model_->table().columns[static_cast<std::size_t>(c)].key;
    const bool hidden = hidden_.contains(ComparedColumns::figureOf(key));
    view_->setColumnHidden(c, !head_->figure()->shows(key) || (hidden && !head_->figure()->isChosen(key)));
  }
}

void DataTable::showTable(sections::SectionTable table) {
  const double unit = chooseTimeUnit(table, perUnit_);
  head_->setTitle(QString::fromStdString(table.title), QString::fromStdString(table.basis));
  view_->setAccessibleName(title());
  // Columns that are empty in all rows, or that text leaves out, are hidden.
  std::set<std::string> said;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    const bool any = std::any_of(table.rows.begin(), table.rows.end(), [&](const auto& row) {
      return c < row.size() && !std::holds_alternative<std::monostate>(row[c]) &&
             row[c] != sections::Cell(std::string());
    });
    if (any) said.insert(table.columns[c].key);
  }
  for (std::size_t c = table.columns.size(); c-- > 0;) {
    // Dashes say that a figure of the source has no counterpart.
    const std::string& key = table.columns[c].key;
    const bool isSaid = said.contains(key) || said.contains(sections::kSourceKey + key);
    if ((isSaid && table.columns[c].inText) || table.rows.empty()) continue;
    table.columns.erase(table.columns.begin() + static_cast<std::ptrdiff_t>(c));
    for (auto& row : table.rows) {
      if (c < row.size()) row.erase(row.begin() + static_cast<std::ptrdiff_t>(c));
    }
  }
  // A new table shows all its columns.
  const bool same =
      table.columns.size() == model_->table().columns.size() && table.key == model_->table().key;
  const bool another = table.key != model_->table().key;
  model_->setTable(std::move(table), unit, times_);
  if (another && !hides_) hidden_.clear();
  head_->figure()->setTable(model_->table(),
                            [this](const std::string& key) { return hidden_.contains(key); });
  if (!same || hides_) chooseColumns();
  countRows();
  selection_->follow();
  // Measuring texts takes long. A table in a tab that is not shown does that when it is.
  isVisible() ? fitColumns() : columns_->outdate();
  fitHeight();
}

void DataTable::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  if (!columns_->isFitted()) fitColumns();
}

void DataTable::setMarks(std::vector<QPixmap> marks) {
  model_->setMarks(std::move(marks));
  if (isVisible()) fitColumns();  // the marks stand before the texts
}

void DataTable::setFilterVisible(bool visible) {
  head_->setFilterVisible(visible);
}

void DataTable::setRowsShown(int rows, int share) {
  rowsShown_ = rows;
  windowShare_ = share;
  fitHeight();
}

void DataTable::setHidden(HiddenColumns hides) {
  hides_ = std::move(hides);
}

void DataTable::setYielding(std::vector<std::string> keys) {
  columns_->setYielding(std::move(keys));
}

void DataTable::tellYielded() {
  QStringList names;
  QVariantList columns;
  for (const int column : columns_->yielded()) {
    names << headingOf(*model_, column);
    columns << column;
  }
  view_->setProperty(kYieldedColumns, columns);
  more_->setText(names.isEmpty() ? QStringLiteral("⋯") : QStringLiteral("+%1 ⋯").arg(names.size()));
  more_->setToolTip(names.isEmpty() ? tr("Columns, copy, save as CSV")
                                    : tr("There is no room for the columns %1. Here they can be shown, "
                                         "and rows copied or saved as CSV.")
                                          .arg(names.join(QStringLiteral(", "))));
}

void DataTable::sortBy(int column, Qt::SortOrder order) {
  view_->sortByColumn(column, order);
}

QString DataTable::title() const {
  return head_->title();
}

void DataTable::fitColumns() {
  columns_->fit(font());
  fitHeight();
  tellYielded();
}

/// Continues sentences that are wider than their column in the next lines, if the table is short.
void DataTable::wrapTexts() {
  const int rows = proxy_->rowCount();
  for (int row = 0; row < std::min(rows, kWrappedRows); ++row) {
    const int lines = rows <= kWrappedRows ? columns_->linesOf(row) : 1;
    const int more = (lines - 1) * QFontMetrics(view_->font()).lineSpacing();
    const int height = cells_->row() + (lines > 1 ? more + kWrappedRoom : 0);
    if (view_->rowHeight(row) != height) view_->setRowHeight(row, height);
  }
}

/// Returns the most rows that the table shows without scrolling. A tall screen has room for more.
int DataTable::rowsVisible() const {
  const int most = std::max(rowsShown_, window()->height() / (windowShare_ * kDataTableRow));
  return std::clamp(model_->rowCount(), 1, most);
}

void DataTable::fitHeight() {
  if (columns_->isFitted()) wrapTexts();
  if (rowsShown_ <= 0) return fillHeight();
  const int rows = rowsVisible(), header = view_->horizontalHeader()->sizeHint().height();
  int tall = 0;
  for (int row = 0; row < rows; ++row)
    tall += row < proxy_->rowCount() ? view_->rowHeight(row) : cells_->row();
  view_->setFixedHeight(header + tall + 4 +
                        (columns_->scrolls() ? view_->horizontalScrollBar()->sizeHint().height() : 0));
  view_->setVerticalScrollBarPolicy(model_->rowCount() > rows ? Qt::ScrollBarAsNeeded
                                                              : Qt::ScrollBarAlwaysOff);
}

/// Rows that are far apart are harder to compare, so they grow in large windows only.
int DataTable::tallestRow(const QWidget& window) {
  constexpr int kRowsOfWindow = 54;
  return std::max(kDataTableRow, window.height() / kRowsOfWindow);
}

shell::Growing::Heights DataTable::heights() const {
  if (rowsShown_ <= 0) return {};
  const int rows = rowsVisible(), now = view_->minimumHeight(),
            least = now - rows * (cells_->row() - kDataTableRow);
  return {least, least + rows * (tallestRow(*window()) - kDataTableRow), now};
}

void DataTable::growTo(int height) {
  const auto [least, most, now] = heights();
  const int row = kDataTableRow + std::max(0, height - least) / rowsVisible();
  if (row == cells_->row()) return;
  setRowHeight(row);
  fitHeight();
}

void DataTable::setRowHeight(int height) {
  cells_->setRow(height);
  view_->verticalHeader()->setDefaultSectionSize(height);
  if (columns_->isFitted()) wrapTexts();
}

/// The rows of a table that fills its place share the height that is left below them.
void DataTable::fillHeight() {
  const int rows = proxy_->rowCount();
  if (rows == 0) return;
  const int least = view_->verticalHeader()->length() - rows * (cells_->row() - kDataTableRow),
            row = std::clamp(kDataTableRow + (view_->viewport()->height() - least) / rows, kDataTableRow,
                             tallestRow(*window()));
  if (row != cells_->row()) setRowHeight(row);
}

void DataTable::countRows() {
  head_->setCount(proxy_->rowCount(), model_->rowCount());
}

bool DataTable::eventFilter(QObject* watched, QEvent* event) {
  // The view gets its size after this widget, and in a tab only when that is shown.
  if (watched == view_->viewport() && event->type() == QEvent::Resize)
    view_->viewport()->width() != columns_->fittedTo() ? fitColumns() : fitHeight();
  if (watched == view_ && event->type() == QEvent::KeyPress) {
    const auto* key = static_cast<QKeyEvent*>(event);
    if (key->matches(QKeySequence::Copy)) return copyRows(*view_), true;
    if (key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter) {
      if (!view_->currentIndex().isValid()) return true;
      const int row = proxy_->mapToSource(view_->currentIndex()).row();
      activate(row);
      if (subjectAt(row).kind == shell::Selected::Kind::none) Q_EMIT rowOpened(row);
      return true;
    }
    if (isPageKey(*key)) return event->ignore(), true;
  }
  return QWidget::eventFilter(watched, event);
}

void DataTable::setBarsToLargest() {
  model_->setBarsToLargest(true);
}

void DataTable::markRow(int row) {
  const QModelIndex shown = proxy_->mapFromSource(model_->index(row, 0));
  if (row < 0 || !shown.isValid()) return view_->clearSelection();
  view_->selectRow(shown.row());
  view_->scrollTo(shown);
}

QString DataTable::csv() const {
  return tableCsv(*view_);
}

void DataTable::fillMenu(QMenu& menu) {
  QAction* filtering = menu.addAction(tr("Filter"), this, [this] {
    setFilterVisible(!filter()->isVisible());
    filter()->isVisible() ? filter()->setFocus() : filter()->clear();
  });
  filtering->setCheckable(true);
  filtering->setChecked(filter()->isVisible());
  addTableActions(menu, *view_);
}

QMenu* DataTable::makeMenu() {
  auto* menu = new QMenu(this);
  fillMenu(*menu);
  return menu;
}

/// The first text of a row; a row of numbers only has the first of them.
QString DataTable::nameOf(int row) const {
  const auto& rows = model_->table().rows;
  if (row < 0 || row >= static_cast<int>(rows.size())) return {};
  for (const sections::Cell& cell : rows[static_cast<std::size_t>(row)]) {
    if (const QString words = wordsIn(cell); !words.isEmpty()) return words;
  }
  return model_->index(row, 0).data().toString();
}

QMenu* DataTable::makeRowMenu(int row) {
  auto* menu = new QMenu(this);
  const shell::Selected subject = subjectAt(row);
  addSubjectActions(*menu, *this, subject);
  if (subject.kind == shell::Selected::Kind::none) addCopyName(*menu, *this, nameOf(row));
  // The subject of the row comes first, so the table's own entries are one step away.
  fillMenu(subject.kind == shell::Selected::Kind::none ? *menu : *menu->addMenu(tr("Table")));
  return menu;
}

DataTable* addTablePanel(const shell::Palette& palette, QVBoxLayout& column, int rows, QWidget* page) {
  auto* panel = new Panel(palette, {}, page);
  auto* table = new DataTable(palette, panel);
  table->setRowsShown(rows);
  panel->body()->addWidget(table);
  column.addWidget(panel);
  return table;
}

}  // namespace pipescope::pages
