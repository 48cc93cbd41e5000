#pragma once
#include <QString>

class QMenu;
class QTableView;

namespace pipescope::pages {

/// Shown columns and rows of a view, as filtered and sorted: fields with a comma, quote or line end are quoted.
QString tableCsv(const QTableView& view);
/// Headings and selected rows, separated by tabs, to the clipboard.
void copyRows(const QTableView& view);
/// Copy, CSV, and which columns are shown.
void addTableActions(QMenu& menu, QTableView& view);

}  // namespace pipescope::pages
