#include "app/gui/remote_files.h"

#include <QCoreApplication>
#include <QDir>
#include <QFileInfo>
#include <QMenu>
#include <QMenuBar>
#include <QStandardPaths>
#include <QStatusBar>

#include "views/shell/home.h"

namespace pipescope::gui {
namespace {

QString translated(const char* text) {
  return QCoreApplication::translate("pipescope::gui", text);
}

remote::RemoteDialog* openDialog(shell::MainWindow& window, const remote::RemoteSetup& setup) {
  auto* dialog = new remote::RemoteDialog(setup, window.settings(), &window);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  QObject::connect(dialog, &QDialog::finished, &window, [&window] { window.activateWindow(); });
  QObject::connect(dialog, &remote::RemoteDialog::fetched, &window,
                   [&window](const QString& copy, bool wasKept) {
                     const bool isShown = QFileInfo(window.session().path()) == QFileInfo(copy);
                     if (!isShown) window.open(copy);
                     if (wasKept)
                       window.statusBar()->showMessage(
                           isShown ? translated("The remote file has not changed.")
                                   : translated("The remote file has not changed since it was fetched; its "
                                                "copy is shown."),
                           8000);
                   });
  dialog->open();
  return dialog;
}

}  // namespace

remote::RemoteSetup remoteSetup() {
  remote::RemoteSetup setup;
  setup.helper = QCoreApplication::applicationFilePath();
  setup.cache = QDir(QStandardPaths::writableLocation(QStandardPaths::CacheLocation))
                    .filePath(QStringLiteral("remote"));
  return setup;
}

void offerRemoteFiles(shell::MainWindow& window, const remote::RemoteSetup& setup) {
  const QString group = translated("File");
  QAction* open =
      window.actions().add(group, translated("Open re&mote…"), {QKeySequence(QStringLiteral("Ctrl+Alt+O"))},
                           [&window, setup] { openDialog(window, setup); });
  window.home()->offer(translated("Open from another machine…"), QStringLiteral("host"),
                       translated("Fetches a profile or a trace over SSH"), [open] { open->trigger(); });
  QAction* again = window.actions().add(group, translated("&Fetch again"),
                                        {QKeySequence(QStringLiteral("Ctrl+Alt+R"))}, [&window, setup] {
                                          const remote::RemoteCache cache(setup.cache);
                                          if (const auto origin = cache.originOf(window.session().path()))
                                            openDialog(window, setup)->fetchAgain(*origin);
                                        });
  const auto follow = [&window, again, setup] {
    const auto origin = remote::RemoteCache(setup.cache).originOf(window.session().path());
    again->setEnabled(origin.has_value());
    again->setText(origin ? translated("&Fetch again from %1").arg(toString(origin->host))
                          : translated("&Fetch again"));
  };
  follow();
  QObject::connect(&window.session(), &shell::ProfileSession::stateChanged, &window, follow);
  QMenu* menu = window.menuBar()->actions().isEmpty() ? nullptr : window.menuBar()->actions().first()->menu();
  if (menu == nullptr) return;
  // They stand below "Open…" and "Open folder…", before what else opens something.
  QAction* before = menu->actions().value(2);
  menu->insertAction(before, open);
  menu->insertAction(before, again);
}

}  // namespace pipescope::gui
