#pragma once
#include <QString>
#include <Qt>

class QMenu;
class QTableView;

namespace pipescope::pages {

/// Models may give cells' figures as plain numbers, and headings the unit of these, under this role.
constexpr int kRawRole = Qt::UserRole + 16;

/// Shown columns and rows of a view, as filtered and sorted, for other programs: figures are plain numbers,
/// their units stand in the headings; fields with a comma, quote or line end are quoted.
QString tableCsv(const QTableView& view);
/// Headings and selected rows, separated by tabs, to the clipboard.
void copyRows(const QTableView& view);
/// Copy, CSV, and which columns are shown.
void addTableActions(QMenu& menu, QTableView& view);

}  // namespace pipescope::pages
