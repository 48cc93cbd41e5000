#include "views/shell/look/stale_tips.h"

#include <QCoreApplication>
#include <QEvent>
#include <QToolTip>

namespace pipescope::shell {

StaleTips::StaleTips(QObject* parent) : QObject(parent) {
  QCoreApplication::instance()->installEventFilter(this);
}

bool StaleTips::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::KeyPress && QToolTip::isVisible()) QToolTip::hideText();
  return QObject::eventFilter(watched, event);
}

}  // namespace pipescope::shell
