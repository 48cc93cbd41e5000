#pragma once
#include <QAbstractScrollArea>
#include <QScrollBar>
#include <QWheelEvent>

namespace pipescope::timeline {

/// One notch of a wheel is 120 eighths of a degree. It zooms by a factor, or pans by a part of the view.
inline constexpr double kNotch = 120, kZoomOfNotch = 1.25, kPanOfNotch = 0.1;

/// True for a turn of the wheel that should scroll the page on which a chart lies. On a page that does not
/// scroll, and with Ctrl or Shift, the chart takes the wheel itself.
inline bool scrollsPage(const QWheelEvent& event, const QWidget& chart) {
  if (event.modifiers() != Qt::NoModifier || event.angleDelta().y() == 0) return false;
  for (const QWidget* above = chart.parentWidget(); above != nullptr; above = above->parentWidget()) {
    const auto* area = qobject_cast<const QAbstractScrollArea*>(above);
    if (area != nullptr && area->verticalScrollBar()->maximum() > 0) return true;
  }
  return false;
}

}  // namespace pipescope::timeline
