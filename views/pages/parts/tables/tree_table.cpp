#include "views/pages/parts/tables/tree_table.h"

#include <QApplication>
#include <QClipboard>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLineEdit>
#include <QMenu>
#include <QSortFilterProxyModel>
#include <QTreeView>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>
#include <utility>

#include "views/pages/parts/data/section_lookup.h"
#include "views/pages/parts/data/text.h"
#include "views/pages/parts/tables/compared_columns.h"
#include "views/pages/parts/tables/row_menu.h"
#include "views/pages/parts/tables/row_subject.h"
#include "views/pages/parts/tables/section_table_model.h"
#include "views/pages/parts/tables/table_head.h"
#include "views/pages/parts/tables/table_menu.h"
#include "views/pages/parts/tables/time_unit.h"
#include "views/pages/parts/tables/tree_cells.h"
#include "views/shell/background.h"
#include "views/shell/look/wheel.h"

namespace pipescope::pages {
namespace {

constexpr int kTreeNameWidth = 300, kWidestTreeColumn = 206, kTreeColumnRoom = 14 + 2 * kTreeCellPadding,
              kLeastTreeName = 240;
constexpr double kSmallerTree = 8.0 / 9;

}  // namespace

TreeTable::TreeTable(const shell::Palette& palette, QWidget* parent)
    : QWidget(parent),
      model_(new TreeModel(this)),
      proxy_(new QSortFilterProxyModel(this)),
      head_(new TableHead(palette, this)),
      view_(new QTreeView(this)),
      selection_(new RowSelection(
          *this,
          [this](const shell::Selected& selected, const analysis::Catalog*) {
            return find_ ? find_(selected) : -1;
          },
          [this](int row) {
            markRow(row);
            if (row >= 0) Q_EMIT rowFollowed(row);
          })) {
  proxy_->setSourceModel(model_);
  proxy_->setSortRole(SectionTableModel::kSortRole);
  proxy_->setFilterKeyColumn(-1);
  proxy_->setFilterCaseSensitivity(Qt::CaseInsensitive);
  proxy_->setRecursiveFilteringEnabled(true);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(6);
  layout->addWidget(head_);
  layout->addWidget(view_, 1);
  view_->setModel(proxy_);
  view_->setItemDelegate(new TreeDelegate(palette, view_));
  shell::giveWheelToPage(*view_);
  // The style fills the indent of a selected row, which the delegate does not paint.
  const auto colourSelection = [this, &palette] {
    QPalette colours;
    colours.setColor(QPalette::Highlight, palette.ui(shell::Ui::selection));
    view_->setPalette(colours);
  };
  colourSelection();
  connect(&palette, &shell::Palette::changed, this, colourSelection);
  view_->setUniformRowHeights(true);
  view_->setSortingEnabled(true);
  view_->sortByColumn(-1, Qt::AscendingOrder);
  view_->setSelectionMode(QAbstractItemView::ExtendedSelection);
  view_->setEditTriggers(QAbstractItemView::NoEditTriggers);
  view_->setTabKeyNavigation(false);
  view_->setTextElideMode(Qt::ElideMiddle);
  view_->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
  view_->header()->setHighlightSections(false);
  view_->header()->setStretchLastSection(false);
  view_->installEventFilter(this);
  view_->viewport()->installEventFilter(this);
  connect(filter(), &QLineEdit::textChanged, this, &TreeTable::applyFilter);
  connect(view_, &QTreeView::clicked, this,
          [this](const QModelIndex& at) { activate(model_->rowOf(proxy_->mapToSource(at))); });
  // A double click folds a row that holds others, and shows any other row on the trace.
  connect(view_, &QTreeView::doubleClicked, this, [this](const QModelIndex& at) {
    if (!proxy_->hasChildren(at.siblingAtColumn(0)))
      showSubject(*this, subjectAt(model_->rowOf(proxy_->mapToSource(at))), QStringLiteral("trace"));
  });
  view_->setContextMenuPolicy(Qt::CustomContextMenu);
  connect(view_, &QWidget::customContextMenuRequested, this, [this](const QPoint& at) {
    const QModelIndex under = view_->indexAt(at);
    QMenu* menu = makeRowMenu(under.isValid() ? model_->rowOf(proxy_->mapToSource(under)) : -1);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    menu->popup(view_->viewport()->mapToGlobal(at));
  });
  connect(head_->figure(), QOverload<int>::of(&QComboBox::activated), this, &TreeTable::applyFigure);
  connect(&palette, &shell::Palette::changed, view_->viewport(), QOverload<>::of(&QWidget::update));
}

void TreeTable::setRows(TreeRows rows, double ticksPerShownUnit) {
  perUnit_ = chooseTimeUnit(rows.table, ticksPerShownUnit);
  ++revision_;
  ++merges_;
  shell::dropInBackground(std::exchange(own_, withShape(std::move(rows))));
  showRows(own_, false);
  if (source_ && source_->table.key == own_->table.key) merge();
}

/// A page may have several trees, which are told apart by the keys of their tables.
QString TreeTable::besideName() const {
  return comparable_ ? QStringLiteral("tree ") + text(ownRows().table.key) : QString();
}

void TreeTable::showBeside(const shell::Beside* source, const shell::BesideTerms& terms) {
  const auto* other = dynamic_cast<const TreeTable*>(source);
  if (other != nullptr && other->ownRows().table.key != ownRows().table.key) other = nullptr;
  if (other == nullptr && !source_) return;
  if (other != nullptr && source_ && other->revision_ == sourceRevision_ && terms.ticks == sourceTicks_)
    return;
  ++merges_;
  shell::dropInBackground(std::exchange(source_, other != nullptr ? other->own_ : nullptr));
  sourceRevision_ = other != nullptr ? other->revision_ : -1;
  sourceTicks_ = terms.ticks;
  if (source_) return merge();
  const int depth = depth_;
  showRows(own_, true);
  openTo(depth, most_);
}

/// Shows the rows with the figures of the other profile. A worker matches those of long trees, and the own
/// rows are shown until then.
void TreeTable::merge() {
  constexpr std::size_t kMatchedAtOnce = 2'000;
  const auto match = [own = own_, source = source_, ticks = sourceTicks_] {
    return withShape(treeWithSource(*own, *source, ticks));
  };
  const auto show = [this, asked = merges_](const std::shared_ptr<const TreeRows>& merged) {
    if (asked != merges_) return;
    const int depth = depth_;
    showRows(merged, true);
    openTo(depth, most_);
  };
  if (own_->parents.size() + source_->parents.size() <= kMatchedAtOnce) return show(match());
  shell::inBackground(this, match, show);
}

void TreeTable::activate(int row) {
  if (row < static_cast<int>(ownRows().parents.size()))
    selection_->choose(subjectAt(row), [this, row] { Q_EMIT rowActivated(row); });
}

void TreeTable::setSubjects(std::function<shell::Selected(int)> subject,
                            std::function<int(const shell::Selected&)> find) {
  subject_ = std::move(subject);
  find_ = std::move(find);
}

QString TreeTable::pathOf(int row) const {
  QString path;
  const TreeRows& rows = model_->rows();
  for (int at = row; at >= 0; at = rows.parents[static_cast<std::size_t>(at)])
    path = wordsIn(rows.table.rows[static_cast<std::size_t>(at)][0]) +
           (path.isEmpty() ? path : QLatin1Char('/') + path);
  return path;
}

shell::Selected TreeTable::subjectAt(int row) const {
  const bool isOwn = row >= 0 && row < static_cast<int>(ownRows().parents.size());
  return isOwn && subject_ ? subject_(row) : shell::Selected();
}

/// Goes down from the roots, because there may be very many rows.
int TreeTable::rowOfPath(const QString& path) const {
  const TreeShape& shape = model_->shape();
  int found = -1;
  QString rest = path;
  for (const std::vector<int>* below = &shape.roots; below != nullptr;) {
    const auto next = std::ranges::find_if(*below, [&](int row) {
      const QString name = wordsIn(model_->rows().table.rows[static_cast<std::size_t>(row)][0]);
      return rest == name || (!name.isEmpty() && rest.startsWith(name + QLatin1Char('/')));
    });
    if (next == below->end()) break;
    found = *next;
    rest = rest.mid(wordsIn(model_->rows().table.rows[static_cast<std::size_t>(found)][0]).size() + 1);
    below = rest.isEmpty() ? nullptr : &shape.children[static_cast<std::size_t>(found)];
  }
  return found;
}

QMenu* TreeTable::makeRowMenu(int row) {
  auto* menu = new QMenu(this);
  const shell::Selected subject = subjectAt(row);
  // A row that stands for several has a name of its own, and shows the first of them on other pages.
  const QString own = row < 0 ? QString() : model_->indexOf(row).data().toString();
  const bool isGroup = subject.kind == shell::Selected::Kind::operation && subject.name != own &&
                       !subject.name.endsWith(QLatin1Char('/') + own);
  if (subject.kind == shell::Selected::Kind::none || isGroup) addCopyName(*menu, *this, own);
  if (isGroup) {
    addPageActions(*menu, *this, subject);
    menu->addSeparator();
  } else {
    addSubjectActions(*menu, *this, subject);
  }
  menu->addAction(tr("Copy selected rows"), this, &TreeTable::copy)
      ->setEnabled(view_->selectionModel()->hasSelection());
  menu->addAction(tr("Open all rows"), this, [this] { openTo(kMostOpen); });
  menu->addAction(tr("Close all rows"), this, [this] { openTo(0); });
  return menu;
}

/// The width of the names with their indents. Long trees are sampled.
int TreeTable::namesNeed() const {
  constexpr int kSamples = 300, kMost = 520, kMark = 22;
  const QFontMetrics metrics(font());
  const std::vector<int>& parents = model_->rows().parents;
  const int rows = static_cast<int>(parents.size()), by = std::max(1, rows / kSamples);
  int needed = 0;
  for (int row = 0; row < rows && needed < kMost; row += by) {
    int depth = 1;
    for (int at = parents[static_cast<std::size_t>(row)]; at >= 0; at = parents[static_cast<std::size_t>(at)])
      ++depth;
    needed = std::max(needed, depth * view_->indentation() + kMark + kTreeColumnRoom +
                                  metrics.horizontalAdvance(model_->indexOf(row).data().toString()));
  }
  return std::min(needed, kMost);
}

/// Hides columns that may give way as long as names would be cut off.
void TreeTable::yieldColumns() {
  for (const int column : yielded_) view_->setColumnHidden(column, false);
  yielded_.clear();
  const auto& columns = model_->rows().table.columns;
  for (const std::string& key : yielding_) {
    if (view_->viewport()->width() >= othersNeed() + namesNeed_) return;
    for (int c = 1; c < model_->columnCount(); ++c) {
      if (view_->isColumnHidden(c) ||
          ComparedColumns::figureOf(columns[static_cast<std::size_t>(c)].key) != key)
        continue;
      view_->setColumnHidden(c, true);
      yielded_.push_back(c);
    }
  }
}

/// Shows the chosen figure of both profiles, and the columns that are not hidden.
void TreeTable::applyFigure() {
  yielded_.clear();
  for (int c = 0; c < model_->columnCount(); ++c) {
    const sections::SectionColumn& column = model_->rows().table.columns[static_cast<std::size_t>(c)];
    const std::string& key = column.key;
    const bool hidden = hidden_.contains(ComparedColumns::figureOf(key));
    view_->setColumnHidden(
        c, !column.inText || !head_->figure()->shows(key) || (hidden && !head_->figure()->isChosen(key)));
  }
  fitName();
}

void TreeTable::showRows(const std::shared_ptr<const TreeRows>& rows, bool sameMarks) {
  head_->setTitle(text(rows->table.title), text(rows->table.basis));
  view_->setAccessibleName(title());
  const bool another = rows->table.key != model_->rows().table.key;
  if (another) hidden_.clear();
  model_->setRows(rows, perUnit_, sameMarks);
  head_->figure()->setTable(model_->rows().table,
                            [this](const std::string& key) { return hidden_.contains(key); });
  view_->header()->setMinimumSectionSize(kTreeColumnRoom);
  setCompact(false);
  extra_ = 0;
  wholeColumns_.assign(static_cast<std::size_t>(model_->columnCount()), 0);
  for (int c = 0; c < model_->columnCount(); ++c) {
    if (c > 0) view_->setColumnWidth(c, columnNeeds(c));
    wholeColumns_[static_cast<std::size_t>(c)] = c > 0 ? view_->columnWidth(c) : 0;
  }
  namesNeed_ = yielding_.empty() ? 0 : namesNeed();
  if (filter()->text().isEmpty()) {
    countRows(allRows());
  } else {
    applyFilter(filter()->text());
  }
  applyFigure();
  selection_->follow();
}

/// The width of the heading and of the texts of a column. Long columns are sampled.
int TreeTable::columnNeeds(int column) const {
  constexpr int kSamples = 100;
  const QFontMetrics metrics(view_->font());
  const auto wide = [&](const QString& words) { return metrics.horizontalAdvance(words); };
  // Headings keep the usual font.
  int needed = QFontMetrics(font()).horizontalAdvance(
      model_->headerData(column, Qt::Horizontal, Qt::DisplayRole).toString());
  const int rows = static_cast<int>(model_->rows().parents.size()), by = std::max(1, rows / kSamples);
  for (int row = 0; row < rows; row += row < kSamples ? 1 : by)
    needed = std::max(needed, wide(model_->indexOf(row, column).data().toString()));
  // The largest number must never be cut.
  if (const int largest = model_->shape().largest[static_cast<std::size_t>(column)]; largest >= 0)
    needed = std::max(needed, wide(model_->indexOf(largest, column).data().toString()));
  return std::min(needed + kTreeColumnRoom, kWidestTreeColumn);
}

/// The width of all columns but the names in the usual font.
int TreeTable::othersNeed() const {
  int others = 0;
  for (int c = 1; c < static_cast<int>(wholeColumns_.size()); ++c)
    others += view_->isColumnHidden(c) ? 0 : wholeColumns_[static_cast<std::size_t>(c)];
  return others;
}

void TreeTable::setCompact(bool compact) {
  if (compact == compact_) return;
  compact_ = compact;
  QFont used = font();
  if (compact) used.setPointSizeF(used.pointSizeF() * kSmallerTree);
  view_->setFont(used);
  for (int c = 1; c < model_->columnCount(); ++c) view_->setColumnWidth(c, columnNeeds(c));
}

/// Returns the part of a wide table's free room that each column of figures gets, so that they do not lie far
/// from the names.
int TreeTable::extraRoom() const {
  constexpr int kEnoughForNames = 900, kMostExtra = 80;
  int columns = 0;
  for (int c = 1; c < model_->columnCount(); ++c) columns += view_->isColumnHidden(c) ? 0 : 1;
  const int free = view_->viewport()->width() - othersNeed() - kEnoughForNames;
  return compact_ || columns == 0 ? 0 : std::clamp(free / columns, 0, kMostExtra);
}

/// The names get the rest of the width. If that is little, columns that may give way are hidden, then the
/// texts become smaller, then the names shorter; only then the table scrolls.
void TreeTable::fitName() {
  // While the rows change, the view may be laid out before the columns are measured.
  if (model_->columnCount() == 0 || static_cast<int>(wholeColumns_.size()) != model_->columnCount()) return;
  const int room = view_->viewport()->width();
  yieldColumns();
  setCompact(room < othersNeed() + kTreeNameWidth);
  const int extra = extraRoom();
  int others = 0;
  for (int c = 1; c < model_->columnCount(); ++c) {
    if (view_->isColumnHidden(c)) continue;
    if (extra != extra_) view_->setColumnWidth(c, wholeColumns_[static_cast<std::size_t>(c)] + extra);
    others += view_->columnWidth(c);
  }
  extra_ = extra;
  view_->setColumnWidth(0, std::max(compact_ ? kLeastTreeName : kTreeNameWidth, room - others));
}

void TreeTable::setMarks(std::vector<QPixmap> pictures, RowMarks marks) {
  model_->setMarks(std::move(pictures), std::move(marks));
  view_->viewport()->update();
}

void TreeTable::applyFilter(const QString& words) {
  proxy_->setFilterFixedString(words);
  int rows = 0;
  if (words.isEmpty()) {
    rows = allRows();
    openTo(depth_, most_);
  } else {
    view_->expandAll();
    const auto& table = model_->rows().table;
    const std::vector<bool> counted = countedRows();
    for (int i = 0; i < static_cast<int>(table.rows.size()); ++i) {
      if (!counted[static_cast<std::size_t>(i)]) continue;
      for (int c = 0; c < model_->columnCount(); ++c) {
        if (!model_->indexOf(i, c).data().toString().contains(words, Qt::CaseInsensitive)) continue;
        ++rows;
        break;
      }
    }
  }
  countRows(rows);
}

void TreeTable::countRows(int rows) {
  head_->setCount(rows, allRows());
}

/// The rows that count. Those that were made for the tree only sum up others, unless there are no others.
std::vector<bool> TreeTable::countedRows() const {
  const TreeRows& rows = model_->rows();
  std::vector<bool> counted(rows.parents.size(), true);
  const auto isMade = [](int source) { return source == -1; };
  if (std::ranges::all_of(rows.sources, isMade)) return counted;
  for (std::size_t i = 0; i < std::min(counted.size(), rows.sources.size()); ++i)
    counted[i] = !isMade(rows.sources[i]);
  return counted;
}

int TreeTable::allRows() const {
  return static_cast<int>(std::ranges::count(countedRows(), true));
}

QLineEdit* TreeTable::filter() const {
  return head_->filter();
}

int TreeTable::openTo(int depth, int most) {
  depth_ = depth;
  most_ = most;
  const std::vector<int>& byDepth = model_->shape().byDepth;
  std::int64_t rows = byDepth.empty() ? 0 : byDepth.front();
  int possible = 0;
  while (possible < depth && possible + 1 < static_cast<int>(byDepth.size())) {
    rows += byDepth[static_cast<std::size_t>(possible) + 1];
    if (rows > most) break;
    ++possible;
  }
  view_->collapseAll();
  if (possible > 0) view_->expandToDepth(possible - 1);
  return rows > most ? possible : depth;
}

void TreeTable::markRow(int row) {
  const QModelIndex shown = proxy_->mapFromSource(model_->indexOf(row));
  if (row < 0 || !shown.isValid()) return view_->clearSelection();
  for (QModelIndex above = shown.parent(); above.isValid(); above = above.parent()) view_->expand(above);
  view_->setCurrentIndex(shown);
  view_->scrollTo(shown);
}

int TreeTable::markedRow() const {
  const QModelIndexList rows = view_->selectionModel()->selectedRows();
  return rows.isEmpty() ? -1 : model_->rowOf(proxy_->mapToSource(rows.front()));
}

void TreeTable::setColumnShown(int column, bool shown) {
  if (column >= static_cast<int>(ownRows().table.columns.size())) return;
  const std::string& key = ownRows().table.columns[static_cast<std::size_t>(column)].key;
  shown ? static_cast<void>(hidden_.erase(key)) : static_cast<void>(hidden_.insert(key));
  applyFigure();
}

void TreeTable::setRowsShown(int rows) {
  rows > 0 ? view_->setFixedHeight((rows + 1) * kTreeRow + 8) : view_->setMinimumHeight(4 * kTreeRow);
}

QString TreeTable::title() const {
  return head_->title();
}

void TreeTable::copy() const {
  QStringList lines, headings;
  for (int c = 0; c < model_->columnCount(); ++c) {
    if (!view_->isColumnHidden(c))
      headings << model_->headerData(c, Qt::Horizontal, Qt::DisplayRole).toString();
  }
  lines << headings.join(QLatin1Char('\t'));
  QModelIndexList rows = view_->selectionModel()->selectedRows();
  for (const QModelIndex& row : rows) {
    QStringList cells;
    for (int c = 0; c < model_->columnCount(); ++c) {
      if (!view_->isColumnHidden(c)) cells << copied(row.sibling(row.row(), c).data().toString());
    }
    lines << cells.join(QLatin1Char('\t'));
  }
  QApplication::clipboard()->setText(lines.join(QLatin1Char('\n')));
}

bool TreeTable::eventFilter(QObject* watched, QEvent* event) {
  if (watched == view_->viewport() && event->type() == QEvent::Resize) fitName();
  if (watched == view_ && event->type() == QEvent::KeyPress) {
    const auto* key = static_cast<QKeyEvent*>(event);
    if (key->matches(QKeySequence::Copy)) return copy(), true;
    if (key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter) {
      if (view_->currentIndex().isValid())
        activate(model_->rowOf(proxy_->mapToSource(view_->currentIndex())));
      return true;
    }
    if (isPageKey(*key)) return event->ignore(), true;
  }
  return QWidget::eventFilter(watched, event);
}

}  // namespace pipescope::pages
