#include "views/shell/look/wheel.h"

#include <QAbstractItemView>
#include <QCoreApplication>
#include <QScrollBar>
#include <QWheelEvent>

namespace pipescope::shell {
namespace {

/// The area that scrolls the page around a view; null: the page does not scroll.
QAbstractScrollArea* pageAround(const QWidget& view) {
  for (QWidget* above = view.parentWidget(); above != nullptr; above = above->parentWidget()) {
    auto* area = qobject_cast<QAbstractScrollArea*>(above);
    if (area != nullptr && area->verticalScrollBar()->maximum() > area->verticalScrollBar()->minimum())
      return area;
  }
  return nullptr;
}

/// Filters the wheel of one view.
class PageWheel : public QObject {
 public:
  explicit PageWheel(QAbstractItemView& view) : QObject(&view), view_(view) {
    view.viewport()->installEventFilter(this);
  }

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override {
    if (event->type() != QEvent::Wheel) return QObject::eventFilter(watched, event);
    const auto* wheel = static_cast<QWheelEvent*>(event);
    const int turn = wheel->angleDelta().y();
    const bool takes = view_.hasFocus() && canScroll(turn < 0);
    if (takes || wheel->modifiers() != Qt::NoModifier || turn == 0)
      return QObject::eventFilter(watched, event);
    QAbstractScrollArea* const page = pageAround(view_);
    if (page == nullptr) return QObject::eventFilter(watched, event);
    QCoreApplication::sendEvent(page->verticalScrollBar(), event);
    event->accept();
    return true;
  }

 private:
  bool canScroll(bool down) const {
    const QScrollBar* rows = view_.verticalScrollBar();
    return down ? rows->value() < rows->maximum() : rows->value() > rows->minimum();
  }

  QAbstractItemView& view_;
};

}  // namespace

void giveWheelToPage(QAbstractItemView& view) {
  new PageWheel(view);
}

}  // namespace pipescope::shell
