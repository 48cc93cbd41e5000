#include "window_test.h"

#include <QApplication>
#include <QElapsedTimer>
#include <QMouseEvent>
#include <QSettings>
#include <QThread>
#include <QThreadPool>

#include "profiler/store/notes.h"
#include "profiler/store/profile_reader.h"

namespace pipescope::testing {

WatchedProfile::WatchedProfile(const FixtureOptions& options) {
  const ProfileFixture fixture(options);
  const model::RowSet rows = *fixture.profile()->everything();
  EXPECT_TRUE(commit(rows).ok());
  EXPECT_TRUE(finish(model::ProfileState::complete, "").ok());
}

std::set<std::thread::id> WatchedProfile::threads() const {
  const std::lock_guard lock(mutex_);
  return threads_;
}

int WatchedProfile::reads() const {
  const std::lock_guard lock(mutex_);
  return reads_;
}

void WatchedProfile::refuse(std::size_t table, std::string sentence) {
  const std::lock_guard lock(mutex_);
  refused_ = table;
  sentence_ = std::move(sentence);
}

void WatchedProfile::note() const {
  const std::lock_guard lock(mutex_);
  threads_.insert(std::this_thread::get_id());
  ++reads_;
}

base::Result<std::vector<model::BlockInfo>> WatchedProfile::directory(std::size_t table) const {
  note();
  return MemoryProfile::directory(table);
}

base::Result<std::shared_ptr<const void>> WatchedProfile::decode(std::size_t table, std::size_t block) const {
  note();
  {
    const std::lock_guard lock(mutex_);
    if (table == refused_) return base::ioError(sentence_);
  }
  return MemoryProfile::decode(table, block);
}

base::Result<shell::OpenedSource> openFile(const std::string& path) {
  PIPESCOPE_ASSIGN(const std::shared_ptr<store::ProfileReader> reader, store::ProfileReader::open(path));
  return shell::OpenedSource{
      reader, [reader] { return reader->refresh(); },
      [path](const std::vector<model::Note>& notes) { return store::writeNotes(path, notes); }};
}

void WindowTest::SetUp() {
  shell::WindowSettings().setValue(QStringLiteral("trace/steps"), 0);
  shell::WindowSettings().setValue(QStringLiteral("trace/colours"), 0);
  shell::WindowSettings().setValue(QStringLiteral("time_unit"), QStringLiteral("cycles"));
  palette = std::make_unique<shell::Palette>();
  palette->setTheme(shell::Theme::light);
  registry = std::make_unique<shell::PageRegistry>();
  shell::registerPages(*registry);
  window = std::make_unique<shell::MainWindow>(*registry, *palette, openFile);
  window->resize(1600, 900);
  window->show();
  ASSERT_TRUE(QTest::qWaitForWindowExposed(window.get()));
}

void WindowTest::TearDown() {
  window.reset();
  // Settings that this window has saved must not change those of the next test: tests may share a process.
  QSettings(QSettings::IniFormat, QSettings::UserScope, QStringLiteral("pipescope"), QStringLiteral("window"))
      .clear();
  QThreadPool::globalInstance()->waitForDone();
}

void WindowTest::open(std::shared_ptr<const model::ProfileSource> source, const QString& page) {
  if (!page.isEmpty()) {
    ASSERT_TRUE(window->showPage(page));
  }
  window->openSource({std::move(source), {}, {}}, QStringLiteral("fixture.pop"));
  ASSERT_TRUE(settle());
}

void WindowTest::showPage(const QString& page) {
  ASSERT_TRUE(window->showPage(page));
  ASSERT_TRUE(settle());
}

/// Loading one thing may start another, so the window must be settled several times in turn. Nothing sleeps
/// while there is something to do.
bool WindowTest::settle() {
  constexpr int kTurns = 4, kMostMs = 10'000, kNapUs = 300;
  QElapsedTimer clock;
  clock.start();
  for (int quiet = 0; quiet < kTurns;) {
    QCoreApplication::processEvents();
    QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
    const bool idle = window->isSettled() && QThreadPool::globalInstance()->activeThreadCount() == 0;
    quiet = idle ? quiet + 1 : 0;
    if (clock.elapsed() > kMostMs) return false;
    if (!idle) QThread::usleep(kNapUs);
  }
  return true;
}

bool WindowTest::waitFor(const std::function<bool()>& condition) {
  return QTest::qWaitFor(condition, 10'000);
}

void WindowTest::dragTo(QWidget* widget, const QPoint& at, Qt::KeyboardModifiers modifiers) {
  QMouseEvent move(QEvent::MouseMove, at, widget->mapToGlobal(at), Qt::NoButton, Qt::LeftButton, modifiers);
  QApplication::sendEvent(widget, &move);
}

void WindowTest::hover(QWidget* widget, const QPoint& at) {
  QMouseEvent move(QEvent::MouseMove, at, widget->mapToGlobal(at), Qt::NoButton, Qt::NoButton, {});
  QApplication::sendEvent(widget, &move);
}

void WindowTest::choose(QComboBox* box, int index) {
  box->setCurrentIndex(index);
  Q_EMIT box->activated(index);
}

void WindowTest::picture(const char* name) {
  const QString folder = qEnvironmentVariable("PIPESCOPE_GUI_PICTURES");
  if (folder.isEmpty()) return;
  const QString file = folder + QLatin1Char('/') + QLatin1String(name) + QStringLiteral(".png");
  EXPECT_TRUE(window->grab().save(file)) << file.toStdString();
}

}  // namespace pipescope::testing
