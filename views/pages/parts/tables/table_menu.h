#pragma once
#include <QModelIndex>
#include <QString>

class QAbstractItemModel;
class QKeyEvent;
class QMenu;
class QTableView;

namespace pipescope::pages {

/// Role under which models may give the figures of cells as plain numbers, and the unit of a column for its
/// heading.
constexpr int kRawRole = Qt::UserRole + 16;
/// Role under which models that shorten figures if room is short give the whole text of a cell.
constexpr int kFullTextRole = Qt::UserRole + 17;

/// A property of a table view: the columns that are hidden only for lack of room, a QVariantList. Copies and
/// CSV have them.
constexpr const char* kYieldedColumns = "yielded_columns";

/// The heading of a column on one line.
QString headingOf(const QAbstractItemModel& model, int column);
/// The text of a cell, not shortened.
QString fullTextOf(const QModelIndex& cell);

/// Writes the visible columns and rows, as filtered and sorted, for other programs. Figures are plain numbers
/// and their units stand in the headings. Fields with a comma, a quote or a line end are quoted.
QString tableCsv(const QTableView& view);
/// Copies headings and selected rows, separated by tabs, to the clipboard.
void copyRows(const QTableView& view);
/// True for a key that writes a character. Tables pass these on, because they are keys of pages.
bool isPageKey(const QKeyEvent& key);
/// A menu to copy, to save CSV, and to select columns.
void addTableActions(QMenu& menu, QTableView& view);

}  // namespace pipescope::pages
