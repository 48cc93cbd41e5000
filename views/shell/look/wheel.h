#pragma once
class QAbstractItemView;

namespace pipescope::shell {

/// Lets a table or tree within a page that scrolls have the wheel only while it has the keyboard and can
/// scroll further, so that the page goes on scrolling when a table comes below the pointer. Shift and a
/// sideways turn scroll the table.
void giveWheelToPage(QAbstractItemView& view);

}  // namespace pipescope::shell
