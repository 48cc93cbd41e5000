#include "views/shell/main_window.h"

#include <QActionGroup>
#include <QApplication>
#include <QClipboard>
#include <QDesktopServices>
#include <QDragEnterEvent>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QMenuBar>
#include <QMimeData>
#include <QPointer>
#include <QScreen>
#include <QStackedWidget>
#include <QStatusBar>
#include <QUrl>
#include <QVBoxLayout>

#include "views/shell/elided_label.h"
#include "views/shell/find_bar.h"
#include "views/shell/header.h"
#include "views/shell/home.h"
#include "views/shell/icons.h"
#include "views/shell/notice.h"
#include "views/shell/picture.h"
#include "views/shell/saved_notice.h"
#include "views/shell/settings_dialog.h"
#include "views/shell/sidebar.h"
#include "views/shell/window_dialogs.h"

namespace pipescope::shell {
namespace {

const auto kGeometry = QStringLiteral("geometry"), kTimeUnit = QStringLiteral("time_unit");

}  // namespace

MainWindow::MainWindow(const PageRegistry& registry, Palette& palette, Opener opener, QWidget* parent)
    : QMainWindow(parent),
      palette_(palette),
      session_(std::make_unique<ProfileSession>(std::move(opener))),
      selection_(std::make_unique<Selection>()),
      timeRange_(std::make_unique<TimeRange>()),
      actions_(std::make_unique<Actions>()) {
  context_.reset(new PageContext{
      *session_, palette_, *selection_, *timeRange_, *actions_, settings_,
      [this](const Place& place) { go(place); }, [this] { setTimeUnit(!timeAction_->isChecked()); },
      [this](bool whole) { saveCurrentPicture(whole); }, [this](const QString& path) { saved_->show(path); },
      [this](const QString& text) { find_->begin(text); }});
  dialogs_ = new WindowDialogs(*this);
  setAcceptDrops(true);
  setAttribute(Qt::WA_DeleteOnClose, false);
  const QSize wanted(1600, 900);
  const QScreen* screen = QGuiApplication::primaryScreen();
  resize(screen == nullptr ? wanted : wanted.boundedTo(screen->availableSize() * 0.95));
  setMinimumSize(760, 480);
  definitions_ = registry.all();
  makeActions();
  makePages(registry);
  makeMenus();
  makeStatusLine();
  connect(session_.get(), &ProfileSession::stateChanged, this, &MainWindow::followSession);
  connect(session_.get(), &ProfileSession::opened, this, [this] {
    selection_->clear();
    if (!session_->path().isEmpty()) settings_.addRecentFile(session_->path());
    fillRecent();
    header_->follow();
    outer_->setCurrentIndex(1);
    if (pending_) go(*std::exchange(pending_, std::nullopt));
  });
  connect(session_.get(), &ProfileSession::grown, this, [this] { header_->follow(); });
  connect(session_.get(), &ProfileSession::executableChanged, this, [this] {
    selection_->clear();
    header_->follow();
  });
  connect(&palette_, &Palette::changed, this, &MainWindow::followPalette);
  applyByteUnits(settings_);
  palette_.setSafe(settings_.value(setting::kSafeColours, false).toBool());
  restoreGeometry(settings_.value(kGeometry).toByteArray());
  fillRecent();
  followPalette();
  followSession();
}

/// The pages refer to the members of the window, so they go first.
MainWindow::~MainWindow() {
  delete takeCentralWidget();
}

/// The path is a widget and no message, because every menu that the pointer passes clears the messages.
void MainWindow::makeStatusLine() {
  path_ = new ElidedLabel(palette_, Qt::AlignLeft | Qt::AlignVCenter, this);
  path_->setAccessibleName(tr("Profile"));
  saved_ = new SavedNotice(palette_, this);
  connect(saved_, &SavedNotice::openWanted, this,
          [](const QString& file) { QDesktopServices::openUrl(QUrl::fromLocalFile(file)); });
  emulated_ = new QLabel(this);
  Palette::makeQuiet(*emulated_);
  statusBar()->addWidget(path_, 1);
  statusBar()->addWidget(saved_);
  statusBar()->addPermanentWidget(emulated_);
  statusBar()->setSizeGripEnabled(false);
  statusBar()->setContentsMargins(8, 0, 10, 0);
}

void MainWindow::makePages(const PageRegistry& registry) {
  sidebar_ = new Sidebar(palette_, registry.all(), this);
  stack_ = new QStackedWidget(this);
  for (const PageDefinition& definition : definitions_) {
    pages_.push_back(definition.make(*context_));
    pages_.back()->setAccessibleName(definition.title);
    stack_->addWidget(pages_.back());
  }
  connect(sidebar_, &Sidebar::chosen, this, &MainWindow::selectPage);
  bar_ = new NoticeBar(palette_, this);
  auto* inner = new QWidget(this);
  auto* column = new QVBoxLayout;
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  header_ = new Header(palette_, *session_, this);
  column->addWidget(header_);
  column->addWidget(bar_);
  find_ = new FindBar(palette_, inner);
  column->addWidget(find_);
  connect(find_, &FindBar::wanted, this, [this](const QString& text, int direction) {
    if (Page* page = currentPage()) find_->setAnswer(page->find(text, direction));
  });
  connect(find_, &FindBar::closed, this, [this](bool back) {
    find_->hide();
    if (Page* page = currentPage()) page->endFind(back), page->offerKeyboard();
  });
  for (Page* page : pages_) {
    connect(page, &Page::settled, this, &MainWindow::enableCommands);
    connect(page, &Page::findAnswered, this, [this, page](const QString& answer) {
      if (page == currentPage()) find_->setAnswer(answer);
    });
  }
  column->addWidget(stack_, 1);
  auto* row = new QHBoxLayout(inner);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(0);
  row->addWidget(sidebar_);
  row->addLayout(column, 1);
  home_ = new Home(palette_, settings_, this);
  connect(home_, &Home::openRequested, dialogs_, &WindowDialogs::chooseFile);
  connect(home_, &Home::demoRequested, this, &MainWindow::openDemo);
  connect(home_, &Home::fileChosen, this, [this](const QString& path) { open(path); });
  outer_ = new QStackedWidget(this);
  outer_->addWidget(home_);
  outer_->addWidget(inner);
  setCentralWidget(outer_);
  selectPage(0);
}

void MainWindow::makeActions() {
  const QString file = tr("File"), view = tr("View"), goGroup = tr("Go to"), help = tr("Help");
  icons_.emplace_back(
      actions_->add(file, tr("&Open…"), {QKeySequence::Open}, [this] { dialogs_->chooseFile(); }),
      QStringLiteral("open"));
  reload_ =
      actions_->add(file, tr("&Reload"), {QKeySequence(Qt::Key_F5), QKeySequence(QStringLiteral("Ctrl+R"))},
                    [this] { session_->reload(); });
  demoAction_ = actions_->add(file, tr("Open the &demo profile"), {}, [this] { openDemo(); });
  demoAction_->setEnabled(false);
  picture_ = actions_->add(file, tr("&Save picture…"), {QKeySequence(QStringLiteral("Ctrl+Shift+S"))},
                           [this] { saveCurrentPicture(false); });
  wholePicture_ =
      actions_->add(file, tr("Save picture of the &whole chart…"),
                    {QKeySequence(QStringLiteral("Ctrl+Alt+S"))}, [this] { saveCurrentPicture(true); });
  link_ = actions_->add(file, tr("&Copy link to this place"), {QKeySequence(QStringLiteral("Ctrl+Shift+C"))},
                        [this] { QApplication::clipboard()->setText(link()); });
  actions_->add(file, tr("Se&ttings…"), {QKeySequence(QStringLiteral("Ctrl+,"))},
                [this] { dialogs_->showSettings(); });
  actions_->add(file, tr("&New window"), {QKeySequence::New}, [this] { Q_EMIT newWindowRequested(); });
  actions_->add(file, tr("&Close window"), {QKeySequence(QStringLiteral("Ctrl+W"))}, [this] { close(); });
  actions_->add(file, tr("&Quit"), {QKeySequence(QStringLiteral("Ctrl+Q"))},
                [] { QApplication::closeAllWindows(); });
  findAction_ =
      actions_->add(goGroup, tr("&Find on this page…"), {QKeySequence::Find}, [this] { showFind(); });
  actions_->add(goGroup, tr("C&ommands…"), {QKeySequence(QStringLiteral("Ctrl+Shift+P"))},
                [this] { dialogs_->showCommands(); });
  for (std::size_t i = 0; i < definitions_.size(); ++i) {
    const QKeySequence key(QStringLiteral("Ctrl+%1").arg(i + 1));
    pageActions_ << actions_->add(goGroup, definitions_[i].title, {key},
                                  [this, i] { selectPage(static_cast<int>(i)); });
    icons_.emplace_back(pageActions_.back(), definitions_[i].icon);
  }
  auto* themes = new QActionGroup(this);
  const std::vector<std::pair<Theme, QString>> choices = {
      {Theme::system, tr("As the &desktop")}, {Theme::light, tr("&Light")}, {Theme::dark, tr("&Dark")}};
  for (const auto& [theme, text] : choices) {
    QAction* action = actions_->add(view, text, {}, [this, chosen = theme] { setTheme(chosen); });
    action->setCheckable(true);
    action->setData(static_cast<int>(theme));
    themes->addAction(action);
    themeActions_ << action;
  }
  actions_->add(view, tr("Switch between light and dark"), {QKeySequence(QStringLiteral("Ctrl+Shift+L"))},
                [this] { setTheme(palette_.isDark() ? Theme::light : Theme::dark); });
  auto* units = new QActionGroup(this);
  cyclesAction_ = actions_->add(view, tr("Time in &cycles"), {}, [this] { setTimeUnit(false); });
  timeAction_ = actions_->add(view, tr("Time in &seconds"), {}, [this] { setTimeUnit(true); });
  for (QAction* action : {cyclesAction_, timeAction_}) action->setCheckable(true), units->addAction(action);
  switchUnit_ = actions_->add(view, tr("Switch between cycles and seconds"),
                              {QKeySequence(QStringLiteral("Ctrl+Shift+U"))},
                              [this] { setTimeUnit(!timeAction_->isChecked()); });
  actions_->add(view, tr("&Full screen"), {QKeySequence(Qt::Key_F11)},
                [this] { setWindowState(windowState() ^ Qt::WindowFullScreen); });
  actions_->add(help, tr("&Keys"), {QKeySequence(Qt::Key_Question), QKeySequence(Qt::Key_F1)},
                [this] { dialogs_->showKeys(); });
  actions_->add(help, tr("&Words"), {}, [this] { dialogs_->showWords(); });
  actions_->add(help, tr("&About Pipescope"), {}, [this] { dialogs_->showAbout(); });
}

void MainWindow::makeMenus() {
  const auto menuOf = [this](const QString& group) {
    auto* menu = new QMenu(QStringLiteral("&") + group, this);
    for (const Actions::Entry& entry : actions_->entries()) {
      if (entry.group == group && entry.action != nullptr) menu->addAction(entry.action);
    }
    return menu;
  };
  QMenu* file = menuOf(tr("File"));
  recent_ = new QMenu(tr("Open &recent"), this);
  file->insertMenu(file->actions().at(1), recent_);
  file->insertSeparator(file->actions().at(file->actions().size() - 2));
  menuBar()->addMenu(file);
  menuBar()->addMenu(menuOf(tr("View")));
  menuBar()->addMenu(menuOf(tr("Go to")));
  // Each page with commands has a menu of its own.
  QStringList groups = {tr("File"), tr("View"), tr("Go to"), tr("Help")};
  for (const Actions::Entry& entry : actions_->entries()) {
    if (entry.action == nullptr || groups.contains(entry.group)) continue;
    groups << entry.group;
    menuBar()->addMenu(menuOf(entry.group));
  }
  menuBar()->addMenu(menuOf(tr("Help")));
  for (QAction* action : themeActions_)
    action->setChecked(action->data().toInt() == static_cast<int>(palette_.theme()));
  (settings_.value(kTimeUnit).toString() == QLatin1String("time") ? timeAction_ : cyclesAction_)
      ->setChecked(true);
}

void MainWindow::open(const QString& path, const QString& executable) {
  session_->open(path, executable);
}
void MainWindow::openSource(OpenedSource source, const QString& title) {
  session_->openSource(std::move(source), title);
}

void MainWindow::setDemo(Demo demo) {
  demo_ = std::move(demo);
  home_->setDemoVisible(static_cast<bool>(demo_));
  demoAction_->setEnabled(static_cast<bool>(demo_));
}

void MainWindow::openDemo() {
  if (!demo_) return;
  home_->setReading(tr("the demo profile; it is being made"));
  demo_([this, guard = QPointer<MainWindow>(this)](const base::Result<QString>& made) {
    if (guard.isNull()) return;
    if (made.ok()) return open(*made);
    home_->setError(QString::fromStdString(made.error().message));
  });
}

QString MainWindow::link() const {
  if (session_->path().isEmpty()) return {};
  QStringList parts = {QStringLiteral("pipescope-gui"),
                       QLatin1Char('\'') + session_->path() + QLatin1Char('\''), QStringLiteral("--page"),
                       definitions_[static_cast<std::size_t>(stack_->currentIndex())].id};
  const model::Executable* row = session_->snapshot() == nullptr
                                     ? nullptr
                                     : session_->snapshot()->catalog->executable(session_->executable());
  if (row != nullptr && !row->name.empty())
    parts << QStringLiteral("--executable") << QString::fromStdString(row->name);
  const Place place = currentPage() == nullptr ? Place{} : currentPage()->place();
  if (place.time) parts << QStringLiteral("--at") << QString::number(place.time->count);
  if (!place.lane.isEmpty()) parts << QStringLiteral("--lane") << place.lane;
  return parts.join(QLatin1Char(' '));
}

/// Shows everything again after a setting has changed.
void MainWindow::showAgain() {
  const bool time = settings_.value(kTimeUnit).toString() == QLatin1String("time");
  (time ? timeAction_ : cyclesAction_)->setChecked(true);
  for (Page* page : pages_) page->reload();
}

void MainWindow::showFind() {
  if (session_->snapshot() != nullptr) find_->begin();
}

void MainWindow::setTheme(Theme theme) {
  settings_.setTheme(theme);
  palette_.setTheme(theme);
}

void MainWindow::setTimeUnit(bool time) {
  settings_.setValue(kTimeUnit, time ? QStringLiteral("time") : QStringLiteral("cycles"));
  (time ? timeAction_ : cyclesAction_)->setChecked(true);
  for (Page* page : pages_) page->reload();
}

bool MainWindow::showPage(const QString& id) {
  for (std::size_t i = 0; i < definitions_.size(); ++i) {
    if (definitions_[i].id == id) return selectPage(static_cast<int>(i)), true;
  }
  return false;
}

QStringList MainWindow::pageIds() const {
  QStringList ids;
  for (const PageDefinition& definition : definitions_) ids << definition.id;
  return ids;
}

void MainWindow::selectPage(int index) {
  if (find_ != nullptr && find_->isVisible()) Q_EMIT find_->closed(false);
  if (index < 0 || index >= static_cast<int>(pages_.size())) return;
  sidebar_->setCurrent(index);
  stack_->setCurrentIndex(index);
  currentPage()->offerKeyboard();
  enableCommands();
}

void MainWindow::saveCurrentPicture(bool whole) {
  Picture picture = currentPage()->picture();
  picture.title = QStringLiteral("%1 — %2").arg(picture.title, session_->title());
  savePicture(picture, whole, definitions_[static_cast<std::size_t>(stack_->currentIndex())].id, *context_);
}

/// Disables the commands that would do nothing.
void MainWindow::enableCommands() {
  const Snapshot* snapshot = session_->snapshot();
  const bool any = snapshot != nullptr, file = any && !session_->path().isEmpty();
  // Where a tick is a time or a cost, there is only one unit.
  const bool clock = any && snapshot->catalog->target.tickMeaning == model::TickMeaning::clockCycle;
  reload_->setEnabled(!session_->path().isEmpty());
  link_->setEnabled(file);
  picture_->setEnabled(any);
  wholePicture_->setEnabled(any && static_cast<bool>(currentPage()->picture().showWhole));
  findAction_->setEnabled(any);
  for (QAction* page : pageActions_) page->setEnabled(any);
  for (QAction* action : {cyclesAction_, timeAction_, switchUnit_}) action->setEnabled(clock || !any);
}

void MainWindow::go(const Place& place) {
  if (session_->isOpening() || session_->snapshot() == nullptr) {
    pending_ = place;
    return;
  }
  if (!place.page.isEmpty()) showPage(place.page);
  if (Page* page = currentPage()) page->show(place);
}

bool MainWindow::isSettled() const {
  if (session_->isOpening()) return false;
  return session_->snapshot() == nullptr || currentPage() == nullptr || currentPage()->isSettled();
}

Page* MainWindow::currentPage() const {
  const int index = stack_->currentIndex();
  return index < 0 ? nullptr : pages_[static_cast<std::size_t>(index)];
}

QWidget* MainWindow::home() const {
  return home_;
}

QString MainWindow::notice() const {
  return outer_->currentIndex() == 0 ? home_->notice() : bar_->sentence();
}

void MainWindow::followSession() {
  enableCommands();
  const bool hasProfile = session_->snapshot() != nullptr;
  setWindowTitle(hasProfile || session_->isOpening() ? QStringLiteral("%1 — Pipescope").arg(session_->title())
                                                     : QStringLiteral("Pipescope"));
  if (!hasProfile) {
    outer_->setCurrentIndex(0);
    if (session_->isOpening()) {
      home_->setReading(session_->title());
    } else {
      home_->setError(session_->error());
    }
    path_->setText({});
    emulated_->clear();
    return;
  }
  if (session_->isOpening()) {
    bar_->setNotice(NoticeKind::info, tr("Reading %1…").arg(session_->title()));
    return;
  }
  if (!session_->error().isEmpty()) {
    bar_->setNotice(NoticeKind::error, session_->error());
    return;
  }
  const analysis::Catalog& catalog = *session_->snapshot()->catalog;
  const bool ended = catalog.state.state == model::ProfileState::complete ||
                     catalog.state.state == model::ProfileState::running;
  const QString reason = QString::fromStdString(catalog.state.reason);
  if (ended) {
    bar_->clear();
  } else {
    bar_->setNotice(NoticeKind::warning,
                    tr("This profile is %1%2")
                        .arg(QString::fromStdString(model::toString(catalog.state.state)),
                             reason.isEmpty() ? QStringLiteral(".") : QStringLiteral(": ") + reason));
  }
  header_->follow();
  const QString model = QString::fromStdString(catalog.property("device_model"));
  emulated_->setText(
      (catalog.measured() ? tr("Imported trace%1 · pipescope %2") : tr("Emulated%1 · pipescope %2"))
          .arg(model.isEmpty() ? QString() : tr(" · device model %1").arg(model),
               QString::fromStdString(catalog.property("tool_version"))));
  path_->setText(session_->path());
}

void MainWindow::followPalette() {
  QApplication::setPalette(palette_.widgets());
  setStyleSheet(palette_.styleSheet());
  for (const auto& [action, name] : icons_) action->setIcon(icon(name, palette_));
  for (QAction* action : themeActions_)
    action->setChecked(action->data().toInt() == static_cast<int>(palette_.theme()));
}

void MainWindow::fillRecent() {
  recent_->clear();
  for (const QString& path : settings_.recentFiles()) {
    recent_->addAction(path, this, [this, path] { open(path); });
  }
  recent_->setEnabled(!recent_->isEmpty());
  if (recent_->isEmpty()) return;
  recent_->addSeparator();
  recent_->addAction(tr("Clear this list"), this, [this] {
    settings_.clearRecentFiles();
    fillRecent();
    home_->refresh();
  });
}

/// Gets the keys that no other widget wanted, and offers them to the page, so that no key depends on where
/// the focus is.
void MainWindow::keyPressEvent(QKeyEvent* event) {
  const bool pageShown = outer_->currentIndex() == 1 && currentPage() != nullptr;
  if (pageShown && isTyping(focusWidget())) {
    if (event->key() != Qt::Key_Escape) return QMainWindow::keyPressEvent(event);
    focusWidget()->clearFocus();
    return currentPage()->offerKeyboard();
  }
  if (pageShown && !offeringKey_) {
    offeringKey_ = true;  // a key that the page does not want comes back here
    currentPage()->takeKey(event);
    offeringKey_ = false;
    if (event->isAccepted()) return;
  }
  QMainWindow::keyPressEvent(event);
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
  const QList<QUrl> urls = event->mimeData()->urls();
  if (!urls.isEmpty() && urls.front().isLocalFile()) event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
  const QList<QUrl> urls = event->mimeData()->urls();
  if (urls.isEmpty() || !urls.front().isLocalFile()) return;
  event->acceptProposedAction();
  open(urls.front().toLocalFile());
}

void MainWindow::closeEvent(QCloseEvent* event) {
  settings_.setValue(kGeometry, saveGeometry());
  QMainWindow::closeEvent(event);
  Q_EMIT closed();
}

}  // namespace pipescope::shell
