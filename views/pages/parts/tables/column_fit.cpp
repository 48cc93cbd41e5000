#include "views/pages/parts/tables/column_fit.h"

#include <QFontMetrics>
#include <QHeaderView>
#include <QStyle>
#include <QTableView>
#include <algorithm>

#include "views/pages/parts/data/text.h"
#include "views/pages/parts/tables/data_table_cells.h"
#include "views/pages/parts/tables/section_table_model.h"

namespace pipescope::pages {

namespace {

using Widths = SectionTableModel::Widths;

constexpr int kWidest = 460, kRoom = 2, kSqueezed = 220, kShortest = 110, kMark = 20, kTelling = 180,
              kAlike = 30, kMostLines = 6;

}  // namespace

/// Shows the columns that were hidden for lack of room. One that the menu has shown meanwhile stays from now
/// on.
void ColumnFit::showYielded() {
  for (const int column : yielded_) {
    if (column >= model_.columnCount()) continue;
    if (!view_.isColumnHidden(column))
      demanded_.insert(model_.table().columns[static_cast<std::size_t>(column)].key);
    view_.setColumnHidden(column, false);
  }
  yielded_.clear();
}

/// Hides the next column that may give way. False: there is none.
bool ColumnFit::yieldColumn() {
  const auto& columns = model_.table().columns;
  for (const std::string& key : yielding_) {
    const auto found = std::ranges::find(columns, key, &sections::SectionColumn::key);
    const int column = static_cast<int>(found - columns.begin());
    if (found == columns.end() || view_.isColumnHidden(column) || demanded_.contains(key)) continue;
    view_.setColumnHidden(column, true);
    yielded_.push_back(column);
    return true;
  }
  return false;
}

/// Makes each column as wide as its texts, which may be smaller and shorter.
int ColumnFit::measureColumns(Widths widths) {
  const bool compact = widths == Widths::compact;
  constexpr double kSmaller = 8.0 / 9;
  QFont used = font_;
  if (compact) used.setPointSizeF(used.pointSizeF() * kSmaller);
  model_.setWidths(widths, used);
  view_.setFont(used);
  view_.horizontalHeader()->setFont(used);
  // The texts do not change while columns give way to each other.
  const bool known = compact && compactWidths_.size() == static_cast<std::size_t>(model_.columnCount());
  if (!known) view_.resizeColumnsToContents();
  if (compact && !known) compactWidths_.assign(static_cast<std::size_t>(model_.columnCount()), 0);
  int widest = -1;
  for (int c = 0; c < model_.columnCount(); ++c) {
    if (view_.isColumnHidden(c)) continue;
    int width = std::clamp(view_.columnWidth(c) + kRoom, kNarrowestColumn, kWidest);
    if (known) width = compactWidths_[static_cast<std::size_t>(c)];
    if (compact) compactWidths_[static_cast<std::size_t>(c)] = width;
    view_.setColumnWidth(c, width);
    if (isText(c) && (widest < 0 || view_.columnWidth(c) > view_.columnWidth(widest) - kAlike)) widest = c;
  }
  return widest;
}

bool ColumnFit::isText(int column) const {
  return (model_.headerData(column, Qt::Horizontal, Qt::TextAlignmentRole).toInt() & Qt::AlignLeft) != 0;
}

/// Narrows the widest columns of texts by so many pixels, but none below `least`. Returns what is left over.
int ColumnFit::squeezeTexts(int over, int least) {
  while (over > 0) {
    int widest = -1, next = least;
    for (int c = 0; c < model_.columnCount(); ++c) {
      if (view_.isColumnHidden(c) || !isText(c) || view_.columnWidth(c) <= least) continue;
      if (widest < 0 || view_.columnWidth(c) > view_.columnWidth(widest)) {
        if (widest >= 0) next = std::max(next, view_.columnWidth(widest));
        widest = c;
      } else {
        next = std::max(next, view_.columnWidth(c));
      }
    }
    if (widest < 0) break;
    const int now = view_.columnWidth(widest);
    const int by = std::min(over, std::max(1, now - next));
    view_.setColumnWidth(widest, now - by);
    over -= by;
  }
  return over;
}

/// The rest of the room goes to the widest column of texts, or to the last one of several that are about as
/// wide. If room is short, texts become narrower first, then figures and headings shorter; only then the
/// table scrolls.
void ColumnFit::fit(const QFont& font) {
  font_ = font;
  fittedTo_ = view_.viewport()->width();
  compactWidths_.clear();
  QHeaderView* header = view_.horizontalHeader();
  fitting_ = true;
  header->setSectionResizeMode(QHeaderView::Interactive);
  showYielded();
  fitShown();
  fitting_ = false;
}

/// True if the shortened columns have room when no text is narrower than `least`.
bool ColumnFit::fitsCompactly(int least) {
  measureColumns(Widths::compact);
  const int over = view_.horizontalHeader()->length() - fittedTo_;
  return squeezeTexts(squeezeTexts(over, kSqueezed), least) <= 0;
}

void ColumnFit::fitShown() {
  QHeaderView* header = view_.horizontalHeader();
  int widest = measureColumns(Widths::bars);
  if (header->length() > fittedTo_) widest = measureColumns(Widths::noBars);
  const bool onlyFigures = widest < 0;
  if (onlyFigures) widest = model_.columnCount() - 1;
  if (widest < 0) return;
  const auto over = [&] { return header->length() - fittedTo_; };
  if (squeezeTexts(over(), kSqueezed) > 0) {
    // Names that can be told apart are worth more than the columns that may give way.
    bool fits = fitsCompactly(kTelling);
    while (!fits && yieldColumn()) fits = fitsCompactly(kTelling);
    if (!fits && !fitsCompactly(kShortest)) {
      scrolls_ = true;
      measureColumns(Widths::compact);  // a table that scrolls need not cut its names so short
      squeezeTexts(over(), kSqueezed);
      return;
    }
  }
  if (over() < 0 && onlyFigures) {
    shareEvenly(-over());
  } else if (over() < 0) {
    // Long texts come first: no room is given away that would cut them off.
    const int now = view_.columnWidth(widest), room = -over();
    view_.resizeColumnToContents(widest);
    const int wanted = view_.columnWidth(widest) + kRoom - now;
    view_.setColumnWidth(widest, now);
    shareRoom(widest, room - std::max(0, wanted));
  }
  scrolls_ = false;
  header->setSectionResizeMode(widest, QHeaderView::Stretch);
}

/// Gives a part of a wide table's free room to the columns of figures, so that they do not lie far from the
/// names.
void ColumnFit::shareRoom(int widest, int room) {
  constexpr int kMostExtra = 160, kEnough = 300;
  const int others = model_.columnCount() - view_.horizontalHeader()->hiddenSectionCount() - 1;
  if (room < kEnough || others < 1) return;
  const int extra = std::min(kMostExtra, room * 3 / 5 / others);
  for (int c = 0; c < model_.columnCount(); ++c) {
    if (c != widest && !view_.isColumnHidden(c)) view_.setColumnWidth(c, view_.columnWidth(c) + extra);
  }
}

/// Columns of figures lie side by side, so none of them gets more room than the others.
void ColumnFit::shareEvenly(int room) {
  const int columns = model_.columnCount();
  for (int c = 0; c + 1 < columns; ++c) view_.setColumnWidth(c, view_.columnWidth(c) + room / columns);
}

int ColumnFit::linesOf(int row) const {
  const int margin = view_.style()->pixelMetric(QStyle::PM_FocusFrameHMargin, nullptr, &view_) + 1;
  const QFontMetrics metrics(view_.font());
  int lines = 1;
  for (int c = 0; c < model_.columnCount(); ++c) {
    if (view_.isColumnHidden(c) || !isText(c)) continue;
    const QModelIndex index = view_.model()->index(row, c);
    const QString text = unbroken(index.data(Qt::DisplayRole).toString());
    const int mark = index.data(Qt::DecorationRole).isNull() ? 0 : kMark;
    const int room = view_.columnWidth(c) - 2 * (kCellPadding + margin) - mark;
    if (!text.contains(QLatin1Char(' ')) || room <= 0 || metrics.horizontalAdvance(text) <= room) continue;
    const int height =
        metrics.boundingRect(QRect(0, 0, room, 10'000), Qt::TextWordWrap, text).height() + metrics.leading();
    lines = std::max(lines, (height + metrics.lineSpacing() / 2) / metrics.lineSpacing());
  }
  return std::min(lines, kMostLines);
}

}  // namespace pipescope::pages
