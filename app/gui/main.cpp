// The program pipescope-gui, which shows profiles in windows.
#include <QApplication>
#include <QFile>
#include <QFontDatabase>
#include <QPointer>
#include <QSettings>
#include <QStatusBar>
#include <QTemporaryDir>
#include <QThreadPool>
#include <QTimer>
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "app/gui/crash_note.h"
#include "app/gui/given_files.h"
#include "app/gui/import_trace.h"
#include "app/gui/log_file.h"
#include "app/gui/numbers.h"
#include "app/gui/open_profile.h"
#include "app/gui/remote_files.h"
#include "app/gui/samples.h"
#include "app/gui/screenshot.h"
#include "app/gui/window_for.h"
#include "app/gui/window_options.h"
#include "app/gui/workbench_services.h"
#include "app/run/orders/replay_schedules.h"
#include "profiler/analysis/run_folder.h"
#include "profiler/base/check.h"
#include "profiler/base/files/output_file.h"
#include "profiler/base/log.h"
#include "profiler/base/machine.h"
#include "profiler/base/printable.h"
#include "profiler/base/version.h"
#include "profiler/geometry/timeline/time_axis.h"
#include "profiler/sections/replays.h"
#include "profiler/store/format.h"
#include "views/shell/background.h"
#include "views/shell/comparison.h"
#include "views/shell/dialogs/crash_dialog.h"
#include "views/shell/heap.h"
#include "views/shell/look/icons.h"
#include "views/shell/look/picture_format.h"
#include "views/shell/look/style.h"
#include "views/shell/main_window.h"
#include "views/workbench/workbench.h"

namespace pipescope::gui {
namespace {

void say(const std::string& sentence) {
  std::fprintf(stderr, "pipescope-gui: %s\n", base::printable(sentence).c_str());
}

QString versionText() {
  return QString::fromStdString(base::versionText(store::formatName(store::kUserVersion)));
}

int print(const QString& text) {
  if (std::fputs(text.toUtf8().constData(), stdout) >= 0 && std::fflush(stdout) == 0) return 0;
  say("Cannot write to standard output: the disk is full or the reader has gone.");
  return 2;
}

/// Drops Qt's warnings about the environment, which do not help users. Critical and fatal messages stay, and
/// QT_LOGGING_RULES brings all messages back.
void showQtMessage(QtMsgType type, const QMessageLogContext&, const QString& message) {
  if (type == QtCriticalMsg || type == QtFatalMsg || qEnvironmentVariableIsSet("QT_LOGGING_RULES"))
    say(message.toStdString());
}

/// Checks for a display before Qt does, because Qt would abort with a message that few users understand.
bool hasDisplay() {
  return qEnvironmentVariableIsSet("DISPLAY") || qEnvironmentVariableIsSet("WAYLAND_DISPLAY") ||
         qEnvironmentVariableIsSet("QT_QPA_PLATFORM");
}

void setLook(QApplication& application) {
  QApplication::setStyle(new shell::Style);
  const QString wanted = QStringLiteral("DejaVu Sans");
  if (QFontDatabase().families().contains(wanted)) application.setFont(QFont(wanted, 9));
}

/// Opens the files of a window. Traces of other tools are imported first, with the progress in the status
/// line.
class Opening {
 public:
  /// Call it on the window's thread, before the first open().
  void show(shell::MainWindow& window) { bar_ = window.statusBar(); }
  /// Ends an import that goes on.
  void stop() { ++latest_; }

  /// Opens a file on a worker. An import for an older call ends.
  base::Result<shell::OpenedSource> open(const std::string& path) {
    const int own = ++latest_;
    const auto tell = [bar = bar_](const QString& text) {
      QMetaObject::invokeMethod(
          qApp,
          [bar, text] {
            if (bar) bar->showMessage(text);
          },
          Qt::QueuedConnection);
    };
    return openOrImport(path, tell, [this, own] { return latest_ != own; });
  }

 private:
  QPointer<QStatusBar> bar_;
  std::atomic<int> latest_ = 0;
};

/// The windows of the program. Each window shows one profile.
class Windows {
 public:
  Windows(const WindowOptions& options, shell::Palette& palette) : options_(options), palette_(palette) {
    shell::registerPages(pages_);
  }

  base::Status check() const {
    if (!options_.at.isEmpty()) {
      if (const auto time = geometry::parseTime(options_.at.toStdString(), {}); !time.ok())
        return time.error();
    }
    if (options_.page.isEmpty()) return {};
    QStringList known;
    for (const shell::PageDefinition& page : pages_.all()) known << page.id;
    known << kWorkbench;
    if (known.contains(options_.page)) return {};
    return base::badInput(QStringLiteral("There is no page \"%1\"; there are %2.")
                              .arg(options_.page, known.join(QStringLiteral(", ")))
                              .toStdString());
  }

  /// A window with the profile and the page that the command line names.
  shell::MainWindow& add(const QString& profile) {
    shell::MainWindow& window = addPlain();
    openAsked(window, profile);
    return window;
  }

  /// A window that asks what these files of the command line are.
  shell::MainWindow& addAsking(GivenFiles kind, const QStringList& files) {
    shell::MainWindow& window = addPlain();
    QTimer::singleShot(0, &window, [this, &window, kind, files] {
      askAbout(window, kind, files,
               {importPlaces().cache, [this, &window](const QString& file) { openAsked(window, file); },
                [this](const QString& file) { add(file).show(); }});
    });
    return window;
  }

  /// Opens a profile as the command line says.
  void openAsked(shell::MainWindow& window, const QString& profile) {
    const bool wanted = options_.page == kWorkbench;
    if (!options_.page.isEmpty() && !wanted) window.showPage(options_.page);
    if (profile.isEmpty() && wanted) workbench().newRun();
    if (profile.isEmpty()) return;
    if (wanted && !shell::MainWindow::runs(profile)) editOnceOpen(window);
    if (!options_.at.isEmpty() || !options_.lane.isEmpty()) {
      QObject::connect(&window.session(), &shell::ProfileSession::opened, &window,
                       [this, &window] { goToTime(window); });
    }
    window.open(profile, options_.executable);
    if (!options_.compare.isEmpty()) {
      window.comparison().open(options_.compare);
      if (options_.page.isEmpty()) window.showPage(QStringLiteral("compare"));
    }
  }

  /// Returns the subject of a screenshot: the window, or the workbench that was asked for.
  ScreenshotSubject subject(shell::MainWindow& window) {
    const auto errorOf = [&window] {
      const QString own = window.session().error();
      return own.isEmpty() ? window.comparison().error() : own;
    };
    return {[this, &window, errorOf]() -> QWidget* {
              if ((options_.page != kWorkbench && !workbench_) || !errorOf().isEmpty())
                return window.isSettled() ? static_cast<QWidget*>(&window) : nullptr;
              return workbench_ && workbench_->isSettled() ? workbench_.get() : nullptr;
            },
            errorOf};
  }

  /// A window without a profile.
  shell::MainWindow& addPlain() {
    const auto opening = std::make_shared<Opening>();
    windows_.push_back(std::make_unique<shell::MainWindow>(
        pages_, palette_, [opening](const std::string& path) { return opening->open(path); }));
    shell::MainWindow& window = *windows_.back();
    opening->show(window);
    QObject::connect(&window, &QObject::destroyed, [opening] { opening->stop(); });
    QObject::connect(qApp, &QCoreApplication::aboutToQuit, &window, [opening] { opening->stop(); });
    QObject::connect(&window, &shell::MainWindow::closed, &window, [this, &window] { forget(window); });
    QObject::connect(&window, &shell::MainWindow::newWindowRequested, &window, [this] { add({}).show(); });
    QObject::connect(&window, &shell::MainWindow::newRunRequested, &window, [this] { workbench().newRun(); });
    QObject::connect(&window, &shell::MainWindow::configurationGiven, &window,
                     [this](const QString& file) { workbench().openConfiguration(file); });
    QObject::connect(
        &window, &shell::MainWindow::filesGiven, &window, [this, &window](const QStringList& files) {
          takeDropped(window, files,
                      {importPlaces().cache, [&window](const QString& file) { window.open(file); },
                       [this](const QString& file) { openBeside(file); }});
        });
    QObject::connect(&window, &shell::MainWindow::profileMade, &window,
                     [this, &window](const shell::MadeProfile& made) { openBeside(window, made); });
    QObject::connect(&window, &shell::MainWindow::runAgainRequested, &window,
                     [this, &window](const QStringList& changes) { edit(window, changes); });
    QObject::connect(&window.session(), &shell::ProfileSession::stateChanged, &window,
                     [this] { noteOpenProfiles(); });
    offerSamples(window, samplePlaces(), openProfile, options_.screenshot.isEmpty());
    offerRemoteFiles(window, remoteSetup());
    window.setCardOpener(openProfile);
    return window;
  }

  /// Says what ended the last session, above a window.
  void tellOfCrash(shell::MainWindow& window, const CrashNote& note) {
    auto* dialog = new shell::CrashDialog(note.what, note.profiles, note.report, note.path, &window);
    QObject::connect(dialog, &shell::CrashDialog::openWanted, &window,
                     [this](const QString& file) { openBeside(file); });
    dialog->show();
  }

 private:
  void noteOpenProfiles() const {
    QStringList files;
    for (const auto& window : windows_) {
      const QString file = window->session().wantedPath();
      if (!file.isEmpty() && !files.contains(file)) files << file;
    }
    noteOpenFiles(files);
  }

  static inline const auto kWorkbench = QStringLiteral("workbench");

  /// Shows the settings of the window's profile in the workbench, with changes of them.
  void edit(shell::MainWindow& window, const QStringList& changes = {}) {
    const shell::ProfileSnapshot* snapshot = window.session().snapshot();
    if (snapshot == nullptr) return;
    workbench().edit(window.session().path(), analysis::optionsForAnyFolder(*snapshot->catalog));
    workbench().change(changes);
  }

  void editOnceOpen(shell::MainWindow& window) {
    const auto once = std::make_shared<QMetaObject::Connection>();
    *once =
        QObject::connect(&window.session(), &shell::ProfileSession::opened, &window, [this, &window, once] {
          QObject::disconnect(*once);
          edit(window);
        });
  }

  /// The workbench, shown in front. All windows share it.
  workbench::Workbench& workbench() {
    if (!workbench_) {
      workbench_ = std::make_unique<workbench::Workbench>(palette_, workbenchServices());
      QObject::connect(workbench_.get(), &workbench::Workbench::openWanted, workbench_.get(),
                       [this](const QString& profile) { openBeside(profile); });
      QObject::connect(workbench_.get(), &workbench::Workbench::runStarted, workbench_.get(),
                       [this](const QString& profile) { openBeside(profile, false); });
      QObject::connect(
          workbench_.get(), &workbench::Workbench::compareWanted, workbench_.get(),
          [this](const QString& former, const QString& profile) { openBeside(profile).compareWith(former); });
    }
    if (!workbench_->isVisible() && options_.size) workbench_->resize(*options_.size);
    workbench_->show();
    workbench_->raise();
    workbench_->activateWindow();
    return *workbench_;
  }

  shell::MainWindow& openBeside(const QString& profile, bool activate = true) {
    return windowFor(
        profile, windows_, [this]() -> shell::MainWindow& { return addPlain(); }, activate);
  }

  /// A new window covers neither the title nor the menu of the one that it comes from.
  void openBeside(const shell::MainWindow& from, const shell::MadeProfile& made) {
    constexpr int kAside = 48;
    shell::MainWindow& window = addPlain();
    window.openMade(made);
    window.show();
    window.move(from.pos() + QPoint(kAside, kAside));
    window.raise();
    window.activateWindow();
  }

  /// Destroys a closed window and its profile after the close event has been handled.
  void forget(shell::MainWindow& window) {
    const auto found =
        std::find_if(windows_.begin(), windows_.end(), [&](const auto& w) { return w.get() == &window; });
    if (found == windows_.end()) return;
    found->release()->deleteLater();
    windows_.erase(found);
    noteOpenProfiles();
  }

  /// Goes to the time that the command line gives. The profile must be open, because it defines the length of
  /// a tick.
  void goToTime(shell::MainWindow& window) const {
    if (options_.at.isEmpty()) return window.go({QStringLiteral("trace"), {}, -1, options_.lane});
    const analysis::Catalog& catalog = *window.session().snapshot()->catalog;
    geometry::TimeScale scale;
    if (!catalog.devices.empty()) scale.ticksPerSecond = catalog.devices.front().ticksPerSecond;
    if (catalog.target.tickMeaning == model::TickMeaning::cost) scale.unit = geometry::TimeUnit::costUnits;
    const auto time = geometry::parseTime(options_.at.toStdString(), scale);
    if (!time.ok()) return say(time.error().message);
    window.go({QStringLiteral("trace"), *time, -1, options_.lane});
  }

  const WindowOptions& options_;
  shell::Palette& palette_;
  shell::PageRegistry pages_;
  std::vector<std::unique_ptr<shell::MainWindow>> windows_;
  std::unique_ptr<workbench::Workbench> workbench_;
};

base::OutputRules pictureRules(const WindowOptions& options) {
  base::OutputRules rules{{}, options.overwrite, "Choose another name, or pass --overwrite."};
  if (!options.compare.isEmpty()) rules.inputs.emplace_back(QFile::encodeName(options.compare).toStdString());
  for (const QString& profile : options.profiles)
    rules.inputs.emplace_back(QFile::encodeName(profile).toStdString());
  return rules;
}

int run(int argc, char** argv, const WindowOptions& options) {
  if (!options.screenshot.isEmpty()) {
    const auto format = shell::pictureFormatOf(options.screenshot, false);
    const base::Status allowed = format.ok()
                                     ? base::checkOutput(QFile::encodeName(options.screenshot).toStdString(),
                                                         format->kind, pictureRules(options))
                                     : base::Status(format.error());
    if (!allowed.ok()) return say(allowed.error().message), 2;
  }
  qInstallMessageHandler(showQtMessage);
  QCoreApplication::setAttribute(Qt::AA_EnableHighDpiScaling);
  QCoreApplication::setAttribute(Qt::AA_UseHighDpiPixmaps);
  QApplication application(argc, argv);
  useDecimalPoints();
  QCoreApplication::setApplicationName(QStringLiteral("pipescope"));
  // The About box shows it to copy.
  QCoreApplication::setApplicationVersion(versionText());
  QGuiApplication::setDesktopFileName(QStringLiteral("pipescope-gui"));
  setLook(application);
  // A screenshot uses empty settings, so that it neither depends on the user's settings nor changes them.
  std::unique_ptr<QTemporaryDir> scratch;
  if (!options.screenshot.isEmpty()) {
    scratch = std::make_unique<QTemporaryDir>();
    QSettings::setPath(QSettings::IniFormat, QSettings::UserScope, scratch->path());
  }
  const std::optional<CrashNote> crash = options.screenshot.isEmpty() ? takeCrashNote() : std::nullopt;
  noteCrashes(versionText().toStdString());
  shell::Palette palette;
  palette.setTheme(options.theme ? shell::themeFromName(*options.theme) : shell::WindowSettings().theme());
  QApplication::setWindowIcon(shell::icon(QStringLiteral("pipescope"), palette));
  Windows windows(options, palette);
  if (const base::Status known = windows.check(); !known.ok()) return say(known.error().message), 2;
  std::unique_ptr<Screenshot> screenshot;
  auto show = [&, told = false](shell::MainWindow& window) mutable {
    if (options.size) window.resize(*options.size);
    window.show();
    if (crash && !std::exchange(told, true)) windows.tellOfCrash(window, *crash);
    if (options.screenshot.isEmpty()) return;
    window.resize(options.size.value_or(QSize(1600, 900)));
    screenshot =
        std::make_unique<Screenshot>(windows.subject(window), options.screenshot, pictureRules(options));
  };
  // Nobody can answer for a picture, and profiles have a window each.
  const GivenFiles given = kindOf(options.profiles);
  const bool asks =
      (given == GivenFiles::traces || given == GivenFiles::mixed) && options.screenshot.isEmpty();
  if (asks) {
    show(windows.addAsking(given, options.profiles));
  } else if (given == GivenFiles::ranks) {
    const auto folder = folderOfRanks(options.profiles, importPlaces().cache);
    if (!folder.ok()) return say(folder.error().message), 2;
    show(windows.add(*folder));
  } else {
    for (const QString& profile : options.profiles.isEmpty() ? QStringList(QString()) : options.profiles)
      show(windows.add(profile));
  }
  const int status = QApplication::exec();
  // The user has closed the last window, so what is still being read is of no use. A note that is being
  // written is finished within this time; SQLite undoes one that is not.
  constexpr int kPatienceMs = 1000;
  QThreadPool::globalInstance()->clear();
  if (!QThreadPool::globalInstance()->waitForDone(kPatienceMs)) std::_Exit(status);
  return status;
}

}  // namespace
}  // namespace pipescope::gui

int main(int argc, char** argv) {
  using namespace pipescope;
  if (remote::isQuestionHelper()) return remote::runQuestionHelper(argc, argv);
  shell::keepHeapSmall();
  base::setCheckHandler([](const std::string& sentence) {
    std::fprintf(stderr, "pipescope-gui: internal fault: %s\n", sentence.c_str());
    gui::noteFault(sentence);
    std::_Exit(3);
  });
  base::endOnMachineTrouble("pipescope-gui", 1);
  gui::LogFile log;
  base::setLogSink([&log](base::LogLevel level, const std::string& message) {
    if (level >= base::LogLevel::warning) gui::say(message);
    log.write(level, message);
  });
  QStringList arguments;
  for (int i = 1; i < argc; ++i) arguments << QString::fromLocal8Bit(argv[i]);
  const auto options = gui::parseOptions(arguments);
  if (!options.ok()) return gui::say(options.error().message), 2;
  if (options->help) return gui::print(gui::helpText());
  if (options->version) return gui::print(gui::versionText() + QLatin1Char('\n'));
  if (!gui::hasDisplay()) {
    if (options->screenshot.isEmpty()) {
      return gui::say(
                 "There is no display: DISPLAY and WAYLAND_DISPLAY are not set. pipescope report shows the "
                 "same figures as text; --screenshot draws a page without a display."),
             2;
    }
    qputenv("QT_QPA_PLATFORM", "offscreen");
  }
  sections::setSchedules(app::replaySchedules());
  return gui::run(argc, argv, *options);
}
