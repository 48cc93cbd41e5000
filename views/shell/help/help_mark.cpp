#include "views/shell/help/help_mark.h"

#include <QCoreApplication>
#include <QEvent>
#include <QPointer>
#include <utility>

#include "views/shell/background.h"
#include "views/shell/help/help_book.h"
#include "views/shell/help/help_window.h"
#include "views/shell/look/palette.h"

namespace pipescope::shell {

HelpShelf& HelpShelf::instance() {
  static QPointer<HelpShelf> shelf;
  if (shelf.isNull()) shelf = new HelpShelf(QCoreApplication::instance());
  return *shelf;
}

void HelpShelf::prepare() {
  if (std::exchange(begun_, true)) return;
  inBackground(
      this, [] { return &HelpBook::builtIn(); },
      [this](const HelpBook*) {
        ready_ = true;
        Q_EMIT ready();
      });
}

HelpMark::HelpMark(const Palette& palette, QWidget* parent) : QToolButton(parent) {
  setText(QStringLiteral("?"));
  setAutoRaise(true);
  setToolTip(tr("What this shows"));
  Palette::makeQuiet(*this);
  hide();
  parent->installEventFilter(this);
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

/// A mark learns which page it stands on when what it stands in is shown: panels are made before their page
/// has a name.
bool HelpMark::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::Show) look();
  return QToolButton::eventFilter(watched, event);
}

void HelpMark::look() {
  HelpShelf& shelf = HelpShelf::instance();
  if (!shelf.isReady()) {
    connect(&shelf, &HelpShelf::ready, this, &HelpMark::look, Qt::UniqueConnection);
    return shelf.prepare();
  }
  setVisible(!title_.isEmpty() && HelpWindow::sectionOn(*this, title_) != nullptr);
}

}  // namespace pipescope::shell
