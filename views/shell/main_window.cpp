#include "views/shell/main_window.h"

#include <QApplication>
#include <QDesktopServices>
#include <QDragEnterEvent>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QMimeData>
#include <QPointer>
#include <QScreen>
#include <QStackedWidget>
#include <QStatusBar>
#include <QTimer>
#include <QUrl>
#include <QVBoxLayout>

#include "profiler/sections/frame/sweep_file.h"
#include "views/shell/beside_pages.h"
#include "views/shell/comparison.h"
#include "views/shell/dialogs/find_bar.h"
#include "views/shell/dialogs/notice.h"
#include "views/shell/dialogs/report_saver.h"
#include "views/shell/dialogs/saved_notice.h"
#include "views/shell/dialogs/settings_dialog.h"
#include "views/shell/dialogs/window_dialogs.h"
#include "views/shell/header.h"
#include "views/shell/help/help_mark.h"
#include "views/shell/help/help_window.h"
#include "views/shell/help/tour.h"
#include "views/shell/home.h"
#include "views/shell/look/elided_label.h"
#include "views/shell/look/icons.h"
#include "views/shell/look/picture.h"
#include "views/shell/look/stale_tips.h"
#include "views/shell/sidebar.h"
#include "views/shell/window_menus.h"

namespace pipescope::shell {
namespace {

const auto kGeometry = QStringLiteral("geometry");

}  // namespace

MainWindow::MainWindow(const PageRegistry& registry, Palette& palette, Opener opener, QWidget* parent)
    : QMainWindow(parent),
      palette_(palette),
      session_(std::make_unique<ProfileSession>(opener)),
      comparison_(std::make_unique<Comparison>(opener)),
      selection_(std::make_unique<Selection>()),
      timeRange_(std::make_unique<TimeRange>()),
      actions_(std::make_unique<Actions>()) {
  context_.reset(new PageContext{
      *session_, palette_, *selection_, *timeRange_, *actions_, settings_,
      [this](const Place& place) { go(place); }, [this] { setTimeUnit(!menus_->showsTime()); },
      [this](bool whole) { saveCurrentPicture(whole); }, [this](const QString& path) { saved_->show(path); },
      [this](const QString& text) { find_->begin(text); }, *comparison_,
      [this] { dialogs_->chooseCompared(); }, [this](const MadeProfile& made) { Q_EMIT profileMade(made); },
      [this](const QStringList& changes) { Q_EMIT runAgainRequested(changes); }});
  beside_ = std::make_unique<BesidePages>(*context_, nullptr);
  dialogs_ = new WindowDialogs(*this);
  new StaleTips(this);
  HelpShelf::instance().prepare();
  setAcceptDrops(true);
  setAttribute(Qt::WA_DeleteOnClose, false);
  const QSize wanted(1600, 900);
  const QScreen* screen = QGuiApplication::primaryScreen();
  resize(screen == nullptr ? wanted : wanted.boundedTo(screen->availableSize() * 0.95));
  setMinimumSize(760, 480);
  definitions_ = registry.all();
  menus_ = new WindowMenus(*this, *actions_, *dialogs_, definitions_);
  makePages(registry);
  menus_->fill();
  makeStatusLine();
  connect(session_.get(), &ProfileSession::stateChanged, this, &MainWindow::followSession);
  connect(session_.get(), &ProfileSession::opened, this, [this] {
    selection_->clear();
    history_.clear();
    timeRange_->forget();
    if (!session_->path().isEmpty()) settings_.addRecentFile(session_->path());
    rememberComparison();
    menus_->fillRecent();
    header_->follow();
    outer_->setCurrentIndex(1);
    followLacks();
    if (pending_) go(*std::exchange(pending_, std::nullopt));
    switch (std::exchange(tourWanted_, TourWanted::no)) {
      case TourWanted::no:
        break;
      case TourWanted::once:
        tour_->beginOnce();
        break;
      case TourWanted::yes:
        tour_->begin();
        break;
    }
  });
  connect(comparison_.get(), &Comparison::changed, this, [this] {
    rememberComparison();
    menus_->fillRecent();
    menus_->enable();
  });
  connect(session_.get(), &ProfileSession::grown, this, [this] {
    header_->follow();
    followLacks();
  });
  connect(session_.get(), &ProfileSession::executableChanged, this, [this] {
    selection_->clear();
    header_->follow();
    followLacks();
  });
  connect(&palette_, &Palette::changed, this, &MainWindow::followPalette);
  applyUnits(settings_);
  palette_.setSafe(settings_.value(setting::kSafeColours, false).toBool());
  restoreGeometry(settings_.value(kGeometry).toByteArray());
  menus_->fillRecent();
  followPalette();
  followSession();
}

/// The pages refer to the members of the window, so they go first. They are deleted where they are: to take
/// them out of the window first would give each of their widgets another style, which takes longer than to
/// delete them.
MainWindow::~MainWindow() {
  beside_.reset();  // a chart of its pages may lie on one of the window's
  delete centralWidget();
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
    HelpWindow::markAsPage(*pages_.back(), definition.id);
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
  tour_ = new Tour(palette_, settings_, this);
  column->addWidget(tour_);
  connect(tour_, &Tour::placeWanted, this, &MainWindow::go);
  connect(tour_, &Tour::reportWanted, this, [this] { saveReport(*this); });
  find_ = new FindBar(palette_, inner);
  column->addWidget(find_);
  connect(find_, &FindBar::wanted, this, [this](const QString& text, int direction) {
    if (!text.isEmpty() && !std::exchange(isFinding_, true)) leave();  // Back returns from where it leads
    if (Page* page = currentPage()) find_->setAnswer(page->find(text, direction));
  });
  connect(find_, &FindBar::closed, this, [this] {
    find_->hide();
    isFinding_ = false;
    if (Page* page = currentPage()) page->endFind(), page->offerKeyboard();
  });
  for (Page* page : pages_) {
    connect(page, &Page::settled, menus_, &WindowMenus::enable);
    connect(page, &Page::settled, this, &MainWindow::followLacks);
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
  connect(menus_, &WindowMenus::recentCleared, home_, &Home::refresh);
  connect(home_, &Home::openRequested, dialogs_, &WindowDialogs::chooseFile);
  connect(home_, &Home::folderRequested, dialogs_, &WindowDialogs::chooseFolder);
  connect(home_, &Home::compareRequested, dialogs_, &WindowDialogs::chooseTwo);
  connect(home_, &Home::recentChanged, menus_, &WindowMenus::fillRecent);
  connect(home_, &Home::sampleChosen, this, &MainWindow::openSample);
  connect(home_, &Home::sampleEditWanted, this, &MainWindow::configurationGiven);
  connect(home_, &Home::demoRequested, this, &MainWindow::openDemo);
  connect(home_, &Home::newRunRequested, this, &MainWindow::newRunRequested);
  connect(home_, &Home::fileChosen, this, [this](const QString& path) { open(path); });
  connect(home_, &Home::comparisonChosen, this, &MainWindow::compare);
  outer_ = new QStackedWidget(this);
  outer_->addWidget(home_);
  outer_->addWidget(inner);
  setCentralWidget(outer_);
  selectPage(0);
}

/// Makes the names of pages grey that have no content: as far as the catalog tells, and as soon as a page has
/// found it out.
void MainWindow::followLacks() {
  const ProfileSnapshot* snapshot = session_->snapshot();
  const bool isSweep = snapshot != nullptr && snapshot->catalog->executables.empty() &&
                       !snapshot->catalog->property(sections::kSweepTableProperty).empty();
  for (std::size_t i = 0; i < pages_.size(); ++i) {
    const bool known = snapshot != nullptr && pages_[i]->isSettled();
    QString why = known && !pages_[i]->showsContent() ? pages_[i]->notice() : QString();
    if (!known && snapshot != nullptr && definitions_[i].lack)
      why = definitions_[i].lack(*snapshot->catalog, session_->executable());
    if (isSweep && definitions_[i].comparable && !(known && pages_[i]->showsContent()))
      why =
          tr("The open file is the table of a sweep. A double click on a combination on the page Sweep opens "
             "its "
             "profile.");
    sidebar_->setLack(static_cast<int>(i), why);
  }
}

void MainWindow::open(const QString& path, const QString& executable) {
  if (runs(path)) {
    Q_EMIT configurationGiven(path);
  } else {
    // A page of sweeps that shows a table keeps it, so that a profile which is opened there would not be
    // seen.
    const bool isTable = path.endsWith(QLatin1String(".csv"), Qt::CaseInsensitive) ||
                         path.endsWith(QLatin1String(".json"), Qt::CaseInsensitive);
    const bool keeps = currentPageId() == QLatin1String("sweep") && currentPage()->isSettled() &&
                       currentPage()->showsContent();
    if (keeps && !isTable) showPage(QStringLiteral("summary"));
    session_->open(path, executable);
  }
}
bool MainWindow::runs(const QString& path) {
  return path.endsWith(QLatin1String(".toml"), Qt::CaseInsensitive) ||
         path.endsWith(QLatin1String(".onnx"), Qt::CaseInsensitive);
}
void MainWindow::openSource(OpenedSource source, const QString& title) {
  session_->openSource(std::move(source), title);
}

void MainWindow::openMade(const MadeProfile& made) {
  openSource(made.source, made.title);
  comparison_->openSource(made.from, made.fromTitle);
  showPage(QStringLiteral("compare"));
}

void MainWindow::compareWith(const QString& path) {
  comparison_->open(path);
  showPage(QStringLiteral("compare"));
}

void MainWindow::compare(const QString& source, const QString& target) {
  open(target);
  compareWith(source);
}

void MainWindow::setCardOpener(Opener opener) {
  home_->setCardOpener(std::move(opener));
}

void MainWindow::setSampleRunner(SampleRunner runner) {
  samples_ = std::move(runner);
  home_->setDemoVisible(static_cast<bool>(samples_));
  menus_->setDemoPossible(static_cast<bool>(samples_));
}

void MainWindow::openSample(const QString& sample) {
  if (!samples_) return;
  home_->setReading(sample.isEmpty() ? tr("the demo profile; it is being made")
                                     : tr("the profile of %1; it is being made").arg(sample));
  samples_(sample, [this, isDemo = sample.isEmpty(),
                    guard = QPointer<MainWindow>(this)](const base::Result<QString>& made) {
    if (guard.isNull()) return;
    if (made.ok()) {
      if (isDemo && tourWanted_ == TourWanted::no) tourWanted_ = TourWanted::once;
      return open(*made);
    }
    tourWanted_ = TourWanted::no;
    home_->setError(QString::fromStdString(made.error().message));
  });
}

void MainWindow::takeTour() {
  tourWanted_ = TourWanted::yes;
  openSample({});
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

void MainWindow::rememberComparison() {
  const bool both = session_->snapshot() != nullptr && comparison_->snapshot() != nullptr;
  if (both && !session_->path().isEmpty() && !comparison_->path().isEmpty())
    settings_.addRecentComparison(comparison_->path(), session_->path());
}

/// Shows everything again after a setting has changed.
void MainWindow::showAgain() {
  menus_->followUnit();
  for (Page* page : pages_) page->reload();
  beside_->reload();
}

void MainWindow::showFind() {
  if (session_->snapshot() != nullptr) find_->begin();
}

void MainWindow::findOn(const QString& page, const QString& text, const std::function<bool()>& isNeedless) {
  constexpr int kLookMs = 20;
  showPage(page);
  auto* timer = new QTimer(this);
  connect(timer, &QTimer::timeout, this, [this, timer, text, isNeedless, shown = currentPage()] {
    const bool left = currentPage() != shown;
    if (!left && !isSettled()) return;
    timer->stop();
    timer->deleteLater();
    if (!left && !(isNeedless && isNeedless())) find_->begin(text);
  });
  timer->start(kLookMs);
}

void MainWindow::setTheme(Theme theme) {
  settings_.setTheme(theme);
  palette_.setTheme(theme);
}

void MainWindow::setTimeUnit(bool time) {
  settings_.setValue(setting::kTimeUnit, time ? QStringLiteral("time") : QStringLiteral("cycles"));
  applyUnits(settings_);
  showAgain();
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
  if (find_ != nullptr && find_->isVisible()) Q_EMIT find_->closed();
  if (index < 0 || index >= static_cast<int>(pages_.size())) return;
  if (index != stack_->currentIndex()) leave();
  sidebar_->setCurrent(index);
  stack_->setCurrentIndex(index);
  beside_->follow(currentPage(), definitions_[static_cast<std::size_t>(index)]);
  currentPage()->offerKeyboard();
  menus_->enable();
}

void MainWindow::saveCurrentPicture(bool whole) {
  Picture picture = currentPage()->picture();
  for (QString* title : {&picture.title, &picture.wholeTitle})
    if (!title->isEmpty()) *title = QStringLiteral("%1 — %2").arg(*title, session_->title());
  savePicture(picture, whole, definitions_[static_cast<std::size_t>(stack_->currentIndex())].id, *context_);
}

void MainWindow::go(const Place& place) {
  if (session_->isOpening() || session_->snapshot() == nullptr) {
    pending_ = place;
    return;
  }
  if (currentPage() != nullptr && (place.page.isEmpty() || place.page == visit().page)) leave();
  if (!place.page.isEmpty()) showPage(place.page);
  if (Page* page = currentPage()) page->show(place);
}

void MainWindow::select(const QString& page, const Selected& selected) {
  go({page, {}, selected.stage, {}});
  selection_->set(selected);
}

Visit MainWindow::visit() const {
  const int index = stack_->currentIndex();
  return {index < 0 ? QString() : definitions_[static_cast<std::size_t>(index)].id,
          timeRange_->isSet() ? std::optional(timeRange_->view()) : std::nullopt, selection_->current()};
}

void MainWindow::leave() {
  if (isReturning_ || session_->snapshot() == nullptr || stack_->currentIndex() < 0) return;
  history_.leave(visit());
  menus_->enable();
}

void MainWindow::goTo(const std::optional<Visit>& visit) {
  if (!visit) return;
  isReturning_ = true;
  showPage(visit->page);
  if (visit->view) {
    geometry::TimeView view = *visit->view;
    view.setWidth(timeRange_->view().width());
    timeRange_->show(view);
  }
  selection_->set(visit->selected);
  isReturning_ = false;
  menus_->enable();
}

void MainWindow::goBack() {
  goTo(history_.back(visit()));
}

void MainWindow::goForward() {
  goTo(history_.forward(visit()));
}

bool MainWindow::isSettled() const {
  if (session_->isOpening() || comparison_->isOpening()) return false;
  return session_->snapshot() == nullptr || currentPage() == nullptr ||
         (currentPage()->isSettled() && beside_->isSettled() && HelpShelf::instance().isReady());
}

Page* MainWindow::currentPage() const {
  const int index = stack_->currentIndex();
  return index < 0 ? nullptr : pages_[static_cast<std::size_t>(index)];
}

QString MainWindow::notice() const {
  return outer_->currentIndex() == 0 ? home_->notice() : bar_->sentence();
}

void MainWindow::followSession() {
  menus_->enable();
  const bool hasProfile = session_->snapshot() != nullptr;
  const QString title = session_->isOpening() ? session_->wantedTitle() : session_->title();
  setWindowTitle(hasProfile || session_->isOpening() ? QStringLiteral("%1 — Pipescope").arg(title)
                                                     : QStringLiteral("Pipescope"));
  if (!hasProfile) {
    outer_->setCurrentIndex(0);
    if (session_->isOpening()) {
      home_->setReading(title);
    } else {
      home_->setError(session_->error());
    }
    path_->setText({});
    emulated_->clear();
    return;
  }
  if (session_->isOpening()) {
    bar_->setNotice(NoticeKind::info, tr("Reading %1…").arg(title));
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
  menus_->followTheme();
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
  if (urls.isEmpty() || !urls.front().isLocalFile()) return;
  event->acceptProposedAction();
  header_->offerComparison(session_->snapshot() != nullptr && urls.size() == 1);
}

void MainWindow::dragMoveEvent(QDragMoveEvent* event) {
  event->acceptProposedAction();
}

void MainWindow::dragLeaveEvent(QDragLeaveEvent*) {
  header_->offerComparison(false);
}

void MainWindow::dropEvent(QDropEvent* event) {
  header_->offerComparison(false);
  const QList<QUrl> urls = event->mimeData()->urls();
  if (urls.isEmpty() || !urls.front().isLocalFile()) return;
  event->acceptProposedAction();
  const QString first = urls.front().toLocalFile();
  if (urls.size() > 1) {
    QStringList files;
    for (const QUrl& url : urls)
      if (url.isLocalFile()) files << url.toLocalFile();
    if (files.size() > 1) return Q_EMIT filesGiven(files);
  }
  // One file that is dropped on the strip with the name of the open profile, or on the compare page, is
  // compared with it.
  const bool onName = header_->isVisible() && header_->rect().contains(header_->mapFrom(this, event->pos()));
  const bool comparing = session_->snapshot() != nullptr && stack_->currentIndex() >= 0 &&
                         (onName || definitions_[static_cast<std::size_t>(stack_->currentIndex())].id ==
                                        QLatin1String("compare"));
  if (comparing) return compareWith(first);
  open(first);
}

void MainWindow::closeEvent(QCloseEvent* event) {
  settings_.setValue(kGeometry, saveGeometry());
  QMainWindow::closeEvent(event);
  Q_EMIT closed();
}

}  // namespace pipescope::shell
