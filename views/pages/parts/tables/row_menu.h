#pragma once
// Menu of the right button for a row: it copies the name of the row, or shows the row on other pages.
#include <QString>

#include "profiler/sections/frame/section.h"

class QMenu;
class QWidget;

namespace pipescope::pages {

/// Subject of a table row: the operation, stage or device that its columns name.
struct RowSubject {
  QString name;    ///< of an operation, a variable or a program; empty: none
  int stage = -1;  ///< −1: none
  QString device;  ///< name of a device; empty: none
};
RowSubject subjectOf(const sections::SectionTable& table, int row);

/// Adds "Copy name" and "Show in" with the pages that can show the subject. They act on the window of `from`.
void addRowActions(QMenu& menu, QWidget& from, const RowSubject& subject);

}  // namespace pipescope::pages
