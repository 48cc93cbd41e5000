#pragma once
// Menu of the right button for a row, bar or box: it copies its name, or shows it on other pages.
#include <QPoint>

#include "views/shell/selection.h"

class QMenu;
class QWidget;

namespace pipescope::pages {

/// Adds "Copy name" and "Show in" with the pages that can show the subject. They act on the window of `from`.
void addSubjectActions(QMenu& menu, QWidget& from, const shell::Selected& subject);

/// Adds "Copy name" alone, for a row that no other page shows.
void addCopyName(QMenu& menu, QWidget& from, const QString& name);

/// Adds "Show in" alone.
void addPageActions(QMenu& menu, QWidget& from, const shell::Selected& subject);

/// Shows that menu at a place of the screen.
void popUpSubjectMenu(QWidget& from, const shell::Selected& subject, const QPoint& at);

/// Selects the subject in the window of `from` and shows it on a page, which the search helps if nothing
/// there is about the subject. Does nothing for a subject of kind none.
void showSubject(QWidget& from, const shell::Selected& subject, const QString& page);

/// Makes the items of a chart offer that menu. A double click shows an item on the trace. The chart has the
/// signals menuWanted(int item, const QPoint& at) and doubleClicked(int item); `subject` tells what an item
/// is about.
template <class Chart, class Subject>
void offerSubjects(Chart& chart, Subject subject) {
  QObject::connect(&chart, &Chart::menuWanted, &chart, [&chart, subject](int item, const QPoint& at) {
    popUpSubjectMenu(chart, subject(item), at);
  });
  QObject::connect(&chart, &Chart::doubleClicked, &chart, [&chart, subject](int item) {
    showSubject(chart, subject(item), QStringLiteral("trace"));
  });
}

}  // namespace pipescope::pages
