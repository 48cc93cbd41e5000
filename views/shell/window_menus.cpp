#include "views/shell/window_menus.h"

#include <QActionGroup>
#include <QApplication>
#include <QClipboard>
#include <QMenuBar>

#include "views/shell/comparison.h"
#include "views/shell/dialogs/report_saver.h"
#include "views/shell/dialogs/settings_dialog.h"
#include "views/shell/dialogs/window_dialogs.h"
#include "views/shell/look/icons.h"
#include "views/shell/main_window.h"

namespace pipescope::shell {

WindowMenus::WindowMenus(MainWindow& window, Actions& actions, WindowDialogs& dialogs,
                         const std::vector<PageDefinition>& pages)
    : QObject(&window), window_(window), actions_(actions), dialogs_(dialogs), pages_(pages) {
  makeActions();
}

void WindowMenus::setDemoPossible(bool possible) {
  demoAction_->setEnabled(possible);
  tourAction_->setEnabled(possible);
}

void WindowMenus::followTheme() {
  for (const auto& [action, name] : icons_) action->setIcon(icon(name, window_.colours()));
  for (QAction* action : themeActions_)
    action->setChecked(action->data().toInt() == static_cast<int>(window_.colours().theme()));
}

void WindowMenus::followUnit() {
  const bool time = window_.settings().value(setting::kTimeUnit).toString() == QLatin1String("time");
  (time ? timeAction_ : cyclesAction_)->setChecked(true);
}

bool WindowMenus::showsTime() const {
  return timeAction_->isChecked();
}

void WindowMenus::makeActions() {
  const QString file = tr("File"), view = tr("View"), goGroup = tr("Go to"), help = tr("Help");
  icons_.emplace_back(
      actions_.add(file, tr("&Open…"), {QKeySequence::Open}, [this] { dialogs_.chooseFile(); }),
      QStringLiteral("open"));
  actions_.add(file, tr("Open fo&lder…"), {QKeySequence(QStringLiteral("Ctrl+Alt+F"))},
               [this] { dialogs_.chooseFolder(); });
  compare_ = actions_.add(file, tr("Co&mpare with…"), {QKeySequence(QStringLiteral("Ctrl+Shift+O"))},
                          [this] { dialogs_.chooseCompared(); });
  reload_ =
      actions_.add(file, tr("&Reload"), {QKeySequence(Qt::Key_F5), QKeySequence(QStringLiteral("Ctrl+R"))},
                   [this] { window_.session().reload(); });
  demoAction_ = actions_.add(file, tr("Open the &demo profile"), {}, [this] { window_.openDemo(); });
  demoAction_->setEnabled(false);
  actions_.add(file, tr("New r&un…"), {QKeySequence(QStringLiteral("Ctrl+Shift+N"))},
               [this] { Q_EMIT window_.newRunRequested(); });
  runAgain_ = actions_.add(file, tr("Edit and run a&gain…"), {QKeySequence(QStringLiteral("Ctrl+Shift+R"))},
                           [this] { Q_EMIT window_.runAgainRequested({}); });
  picture_ = actions_.add(file, tr("&Save picture…"), {QKeySequence(QStringLiteral("Ctrl+Shift+S"))},
                          [this] { window_.saveCurrentPicture(false); });
  wholePicture_ = actions_.add(file, tr("Save picture of the &whole chart…"),
                               {QKeySequence(QStringLiteral("Ctrl+Alt+S"))},
                               [this] { window_.saveCurrentPicture(true); });
  report_ = actions_.add(file, tr("Save r&eport…"), {QKeySequence(QStringLiteral("Ctrl+Shift+E"))},
                         [this] { saveReport(window_); });
  comparisonReport_ = actions_.add(file, tr("Save report of the com&parison…"), {},
                                   [this] { saveComparisonReport(window_); });
  link_ = actions_.add(file, tr("&Copy link to this place"), {QKeySequence(QStringLiteral("Ctrl+Shift+C"))},
                       [this] { QApplication::clipboard()->setText(window_.link()); });
  actions_.add(file, tr("Se&ttings…"), {QKeySequence(QStringLiteral("Ctrl+,"))},
               [this] { dialogs_.showSettings(); });
  actions_.add(file, tr("&New window"), {QKeySequence::New}, [this] { Q_EMIT window_.newWindowRequested(); });
  actions_.add(file, tr("&Close window"), {QKeySequence(QStringLiteral("Ctrl+W"))},
               [this] { window_.close(); });
  actions_.add(file, tr("&Quit"), {QKeySequence(QStringLiteral("Ctrl+Q"))},
               [] { QApplication::closeAllWindows(); });
  findAction_ =
      actions_.add(goGroup, tr("&Find on this page…"), {QKeySequence::Find}, [this] { window_.showFind(); });
  back_ = actions_.add(goGroup, tr("&Back"), {QKeySequence(QStringLiteral("Alt+Left"))},
                       [this] { window_.goBack(); });
  forward_ = actions_.add(goGroup, tr("Fo&rward"), {QKeySequence(QStringLiteral("Alt+Right"))},
                          [this] { window_.goForward(); });
  actions_.add(goGroup, tr("C&ommands…"),
               {QKeySequence(QStringLiteral("Ctrl+Shift+P")), QKeySequence(QStringLiteral("Ctrl+K"))},
               [this] { dialogs_.showCommands(); });
  for (std::size_t i = 0; i < pages_.size(); ++i) {
    const QKeySequence key = pageKey(i);
    pageActions_ << actions_.add(goGroup, pages_[i].title,
                                 key.isEmpty() ? QList<QKeySequence>() : QList<QKeySequence>{key},
                                 [this, i] { window_.selectPage(static_cast<int>(i)); });
    icons_.emplace_back(pageActions_.back(), pages_[i].icon);
  }
  auto* themes = new QActionGroup(&window_);
  const std::vector<std::pair<Theme, QString>> choices = {
      {Theme::system, tr("As the &desktop")}, {Theme::light, tr("&Light")}, {Theme::dark, tr("&Dark")}};
  for (const auto& [theme, text] : choices) {
    QAction* action = actions_.add(view, text, {}, [this, chosen = theme] { window_.setTheme(chosen); });
    action->setCheckable(true);
    action->setData(static_cast<int>(theme));
    themes->addAction(action);
    themeActions_ << action;
  }
  actions_.add(view, tr("Switch between light and dark"), {QKeySequence(QStringLiteral("Ctrl+Shift+L"))},
               [this] { window_.setTheme(window_.colours().isDark() ? Theme::light : Theme::dark); });
  auto* units = new QActionGroup(&window_);
  cyclesAction_ = actions_.add(view, tr("Time in &cycles"), {}, [this] { window_.setTimeUnit(false); });
  timeAction_ = actions_.add(view, tr("Time in &seconds"), {}, [this] { window_.setTimeUnit(true); });
  for (QAction* action : {cyclesAction_, timeAction_}) action->setCheckable(true), units->addAction(action);
  switchUnit_ = actions_.add(view, tr("Switch between cycles and seconds"),
                             {QKeySequence(QStringLiteral("Ctrl+Shift+U"))},
                             [this] { window_.setTimeUnit(!timeAction_->isChecked()); });
  actions_.add(view, tr("&Full screen"), {QKeySequence(Qt::Key_F11)},
               [this] { window_.setWindowState(window_.windowState() ^ Qt::WindowFullScreen); });
  actions_.add(help, tr("&Help on this page"), {QKeySequence(Qt::Key_F1)}, [this] { dialogs_.showHelp(); });
  actions_.add(help, tr("&Search the help…"), {QKeySequence(QStringLiteral("Shift+F1"))},
               [this] { dialogs_.searchHelp(); });
  actions_.add(help, tr("&Keys"), {QKeySequence(Qt::Key_Question)}, [this] { dialogs_.showKeys(); });
  tourAction_ = actions_.add(help, tr("Take the &tour"), {}, [this] { window_.takeTour(); });
  tourAction_->setEnabled(false);
  actions_.add(help, tr("&Words"), {}, [this] { dialogs_.showWords(); });
  actions_.add(help, tr("&About Pipescope"), {}, [this] { dialogs_.showAbout(); });
}

void WindowMenus::fill() {
  const auto menuOf = [this](const QString& group) {
    auto* menu = new QMenu(QStringLiteral("&") + group, &window_);
    for (const Actions::Entry& entry : actions_.entries()) {
      if (entry.group == group && entry.action != nullptr) menu->addAction(entry.action);
    }
    return menu;
  };
  QMenu* file = menuOf(tr("File"));
  recent_ = new QMenu(tr("Open &recent"), &window_);
  file->insertMenu(file->actions().at(2), recent_);
  file->insertSeparator(file->actions().at(file->actions().size() - 2));
  window_.menuBar()->addMenu(file);
  window_.menuBar()->addMenu(menuOf(tr("View")));
  window_.menuBar()->addMenu(menuOf(tr("Go to")));
  // Each page with commands has a menu of its own.
  QStringList groups = {tr("File"), tr("View"), tr("Go to"), tr("Help")};
  for (const Actions::Entry& entry : actions_.entries()) {
    if (entry.action == nullptr || groups.contains(entry.group)) continue;
    groups << entry.group;
    window_.menuBar()->addMenu(menuOf(entry.group));
  }
  window_.menuBar()->addMenu(menuOf(tr("Help")));
  followTheme();
  followUnit();
}

/// Disables the commands that would do nothing.
void WindowMenus::enable() {
  const ProfileSnapshot* snapshot = window_.session().snapshot();
  const bool any = snapshot != nullptr, file = any && !window_.session().path().isEmpty();
  // There is only one unit if a tick is a time or a cost.
  const bool clock = any && snapshot->catalog->target.tickMeaning == model::TickMeaning::clockCycle;
  reload_->setEnabled(!window_.session().wantedPath().isEmpty());
  link_->setEnabled(file);
  compare_->setEnabled(any);
  runAgain_->setEnabled(any && !snapshot->catalog->configuration.empty());
  report_->setEnabled(any && window_.session().executable().valid());
  comparisonReport_->setEnabled(any && window_.comparison().snapshot() != nullptr);
  picture_->setEnabled(any);
  back_->setEnabled(any && window_.history().canGoBack());
  forward_->setEnabled(any && window_.history().canGoForward());
  wholePicture_->setEnabled(any && static_cast<bool>(window_.currentPage()->picture().showWhole));
  findAction_->setEnabled(any);
  for (QAction* page : pageActions_) page->setEnabled(any);
  for (QAction* action : {cyclesAction_, timeAction_, switchUnit_}) action->setEnabled(clock || !any);
}

void WindowMenus::fillRecent() {
  recent_->clear();
  for (const QString& path : window_.settings().recentFiles()) {
    recent_->addAction(path, this, [this, path] { window_.open(path); });
  }
  const auto pairs = window_.settings().recentComparisons();
  if (!pairs.isEmpty()) recent_->addSeparator();
  for (const auto& [source, target] : pairs) {
    recent_->addAction(tr("Compare %1 with %2").arg(source, target), this,
                       [this, from = source, to = target] { window_.compare(from, to); });
  }
  recent_->setEnabled(!recent_->isEmpty());
  if (recent_->isEmpty()) return;
  recent_->addSeparator();
  recent_->addAction(tr("Clear this list"), this, [this] {
    window_.settings().clearRecentFiles();
    fillRecent();
    Q_EMIT recentCleared();
  });
}

}  // namespace pipescope::shell
