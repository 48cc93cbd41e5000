#pragma once
// Keys that move through the items of a chart, the same in all charts.
#include <QKeyEvent>
#include <algorithm>
#include <optional>

namespace pipescope::timeline {

/// The item to which a key leads from the present one among so many; −1 is no item. None: the key does not
/// move.
inline std::optional<int> itemOfKey(const QKeyEvent& event, int present, int count) {
  if (count <= 0 || (event.modifiers() & ~Qt::KeypadModifier) != Qt::NoModifier) return std::nullopt;
  switch (event.key()) {
    case Qt::Key_Left:
    case Qt::Key_Up:
      return present < 0 ? 0 : std::max(0, present - 1);
    case Qt::Key_Right:
    case Qt::Key_Down:
      return present < 0 ? 0 : std::min(count - 1, present + 1);
    case Qt::Key_Home:
      return 0;
    case Qt::Key_End:
      return count - 1;
    default:
      return std::nullopt;
  }
}

inline bool isEnter(const QKeyEvent& event) {
  return event.key() == Qt::Key_Return || event.key() == Qt::Key_Enter;
}

}  // namespace pipescope::timeline
