#include "views/shell/help/help_mark.h"

#include <QEvent>

#include "views/shell/help/help_window.h"
#include "views/shell/look/palette.h"

namespace pipescope::shell {

HelpMark::HelpMark(const Palette& palette, QWidget* parent) : QToolButton(parent) {
  setText(QStringLiteral("?"));
  setAutoRaise(true);
  setToolTip(tr("What this shows"));
  Palette::makeQuiet(*this);
  hide();
  connect(this, &QToolButton::clicked, this, [this, &palette] {
    if (const HelpSection* section = HelpWindow::sectionOn(*this, title_))
      HelpWindow::showFor(*this, palette, section->topic, section->anchor);
  });
}

void HelpMark::setTitle(const QString& title) {
  if (title == title_) return;
  title_ = title;
  setAccessibleName(tr("Help on %1").arg(title));
  look();
}

/// A mark learns which page it stands on when the page that holds it is shown or polished.
bool HelpMark::event(QEvent* event) {
  if (event->type() == QEvent::ShowToParent || event->type() == QEvent::Polish) look();
  return QToolButton::event(event);
}

void HelpMark::look() {
  setVisible(!title_.isEmpty() && HelpWindow::sectionOn(*this, title_) != nullptr);
}

}  // namespace pipescope::shell
