#include "views/timeline/timeline_keys.h"

#include <QScrollBar>

#include "views/timeline/timeline_canvas.h"

namespace pipescope::timeline {
namespace {

constexpr double kKeyZoom = 1.6, kKeyPan = 0.2;

bool pressWithShift(TimelineCanvas& canvas, int key) {
  switch (key) {
    case Qt::Key_W:
      return canvas.changeRowHeight(1), true;
    case Qt::Key_S:
      return canvas.changeRowHeight(-1), true;
    case Qt::Key_R:
      return canvas.changeRowHeight(0), true;
    case Qt::Key_H:
      return canvas.changeGroup(GroupChange::showAll, -1), true;
    case Qt::Key_Up:
      return canvas.changeGroup(GroupChange::up, canvas.currentDevice()), true;
    case Qt::Key_Down:
      return canvas.changeGroup(GroupChange::down, canvas.currentDevice()), true;
    case Qt::Key_Comma:
      return canvas.selectLike(-1), true;
    case Qt::Key_Period:
      return canvas.selectLike(1), true;
    default:
      return false;
  }
}

void escape(TimelineCanvas& canvas) {
  // The first Esc ends the selection, the next one removes the annotations.
  if (canvas.selected()) return canvas.select({});
  canvas.clearAnnotations();
}

bool pressScrollKey(QScrollBar& bar, int key) {
  constexpr int kRows = 3;
  switch (key) {
    case Qt::Key_Up:
      return bar.setValue(bar.value() - kRows * bar.singleStep()), true;
    case Qt::Key_Down:
      return bar.setValue(bar.value() + kRows * bar.singleStep()), true;
    case Qt::Key_PageUp:
      return bar.setValue(bar.value() - bar.pageStep()), true;
    case Qt::Key_PageDown:
      return bar.setValue(bar.value() + bar.pageStep()), true;
    default:
      return false;
  }
}

bool pressTimeKey(TimelineCanvas& canvas, int key) {
  switch (key) {
    case Qt::Key_W:
    case Qt::Key_Plus:
    case Qt::Key_Equal:
      return canvas.zoomBy(kKeyZoom), true;
    case Qt::Key_S:
    case Qt::Key_Minus:
      return canvas.zoomBy(1 / kKeyZoom), true;
    case Qt::Key_A:
    case Qt::Key_Left:
      return canvas.panBy(-kKeyPan), true;
    case Qt::Key_D:
    case Qt::Key_Right:
      return canvas.panBy(kKeyPan), true;
    case Qt::Key_F:
      return canvas.zoomToSelection(), true;
    case Qt::Key_0:
      return canvas.zoomToAll(), true;
    case Qt::Key_Backspace:
      return canvas.control().undo(), true;
    default:
      return false;
  }
}

bool pressItemKey(TimelineCanvas& canvas, int key) {
  switch (key) {
    case Qt::Key_Less:
      return canvas.selectLike(-1), true;
    case Qt::Key_Greater:
      return canvas.selectLike(1), true;
    case Qt::Key_Comma:
      return canvas.selectNeighbour(-1), true;
    case Qt::Key_Period:
      return canvas.selectNeighbour(1), true;
    case Qt::Key_R:
      return canvas.measureSelection(), true;
    case Qt::Key_K:
      return canvas.toggleMarker(), true;
    case Qt::Key_P:
      return canvas.changeGroup(GroupChange::pin, canvas.currentDevice()), true;
    case Qt::Key_H:
      return canvas.changeGroup(GroupChange::hide, canvas.currentDevice()), true;
    case Qt::Key_Escape:
      return escape(canvas), true;
    case Qt::Key_Return:
    case Qt::Key_Enter:
      return canvas.followWait();
    default:
      return false;
  }
}

}  // namespace

bool pressTimelineKey(TimelineCanvas& canvas, int key, Qt::KeyboardModifiers modifiers) {
  if (modifiers == Qt::ControlModifier && key == Qt::Key_Z) return canvas.control().undo(), true;
  if (modifiers & Qt::ControlModifier) return false;
  if (modifiers & Qt::AltModifier) {
    if (key != Qt::Key_Left && key != Qt::Key_Right) return false;
    return canvas.selectNeighbour(key == Qt::Key_Left ? -1 : 1), true;
  }
  if ((modifiers & Qt::ShiftModifier) && pressWithShift(canvas, key)) return true;
  return pressTimeKey(canvas, key) || pressItemKey(canvas, key) ||
         pressScrollKey(*canvas.verticalScrollBar(), key);
}

}  // namespace pipescope::timeline
