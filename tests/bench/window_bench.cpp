// window_bench [FOLDER | PROFILE …]: measures the window with the largest profiles, or with the given ones:
// start, first picture, frames, memory.
// It makes the largest profiles in FOLDER (default: a temporary one) unless they are there. It runs offscreen
// with the software painter. A watchdog measures the longest time in which the thread of the window did not
// return to its event loop.
#include <QApplication>
#include <QElapsedTimer>
#include <QFont>
#include <QKeyEvent>
#include <QSettings>
#include <QTemporaryDir>
#include <QTest>
#include <QThreadPool>
#include <QWheelEvent>
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "app/gui/open_profile.h"
#include "profiler/store/profile_reader.h"
#include "profiler/store/profile_writer.h"
#include "tests/bench/big_profile.h"
#include "views/shell/heap.h"
#include "views/shell/look/style.h"
#include "views/shell/main_window.h"
#include "views/timeline/timeline_canvas.h"

namespace pipescope::bench {
namespace {

double milliseconds(const QElapsedTimer& clock) {
  return static_cast<double>(clock.nsecsElapsed()) / 1e6;
}

/// Processor time of this thread in milliseconds; the time that other programs take from the machine does not
/// count.
double processorMilliseconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

/// `VmRSS:` is the present memory, `VmHWM:` the largest so far.
double residentMiB(const std::string& what) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind(what, 0) == 0) return std::stod(line.substr(what.size())) / 1024;
  }
  return 0;
}

/// Measures the longest time in which the thread of the window did not answer.
class Watchdog {
 public:
  Watchdog() : thread_([this] { watch(); }) {}
  ~Watchdog() {
    stop_ = true;
    thread_.join();
  }
  void beat() { beat_ = now(); }
  double worst() const { return worst_; }
  void reset() {
    beat();
    worst_ = 0;
  }

 private:
  static double now() {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
  void watch() {
    while (!stop_) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      const double late = now() - beat_;
      if (late > worst_) worst_ = late;
    }
  }
  std::atomic<double> beat_ = now(), worst_ = 0;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

double percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1,
                         static_cast<std::size_t>(share * static_cast<double>(values.size())))];
}

class Bench {
 public:
  void run(const char* name, const std::string& path) {
    shell::Palette palette;
    palette.setTheme(shell::Theme::light);
    shell::PageRegistry registry;
    shell::registerPages(registry);
    QElapsedTimer clock;
    clock.start();
    shell::MainWindow window(registry, palette, gui::openProfile);
    window.resize(1600, 900);
    window.showPage(QStringLiteral("trace"));
    window.show();
    if (!QTest::qWaitForWindowExposed(&window)) std::printf("the window was not shown\n");
    std::printf("%s\n  start to window        %8.0f ms\n", name, milliseconds(clock));
    auto* canvas = window.currentPage()->findChild<timeline::TimelineCanvas*>();
    QTimer beat;
    QObject::connect(&beat, &QTimer::timeout, [this] { dog_.beat(); });
    beat.start(0);
    dog_.reset();
    clock.restart();
    window.open(QString::fromStdString(path));
    while (canvas->scene().empty() || canvas->lastDrawMs() == 0) {
      QCoreApplication::processEvents(QEventLoop::AllEvents, 5);
      if (clock.elapsed() > 120'000) break;
    }
    std::printf("  first picture          %8.0f ms\n", milliseconds(clock));
    while (!window.isSettled() && clock.elapsed() < 240'000)
      QCoreApplication::processEvents(QEventLoop::AllEvents, 5);
    std::printf("  all there              %8.0f ms\n", milliseconds(clock));
    std::printf("  longest without answer %8.1f ms while opening\n", dog_.worst());
    dog_.reset();
    far(*canvas);
    std::printf("  longest without answer %8.1f ms while moving over the whole\n", dog_.worst());
    if (readNear(window, *canvas)) {
      dog_.reset();
      near(*canvas);
      std::printf("  longest without answer %8.1f ms while moving near\n", dog_.worst());
    }
    std::printf("  memory                 %8.0f MiB, %.0f MiB at most\n", residentMiB("VmRSS:"),
                residentMiB("VmHWM:"));
  }

 private:
  /// Repaints and notes how long it took.
  void frame(timeline::TimelineCanvas& canvas, const char* what) {
    QElapsedTimer clock;
    clock.start();
    const double before = processorMilliseconds();
    canvas.viewport()->repaint();
    const double took = milliseconds(clock);
    frames_.push_back(took);
    processor_.push_back(processorMilliseconds() - before);
    rows_.push_back(canvas.lastDrawMs());
    if (took > worst_) worst_ = took, worstAt_ = what;
    QCoreApplication::processEvents(QEventLoop::AllEvents, 1);
    dog_.beat();
  }

  void scroll(timeline::TimelineCanvas& canvas) {
    for (int i = 0; i < 60; ++i) {
      QApplication::postEvent(&canvas,
                              new QKeyEvent(QEvent::KeyPress, i < 30 ? Qt::Key_Down : Qt::Key_Up, {}));
      QCoreApplication::sendPostedEvents();
      frame(canvas, "scroll");
    }
  }

  void report(const char* where) {
    std::printf("  frame, %-14s %9.2f ms median, %.2f p99, %.2f worst (%s); rows %.2f p99; %zu frames\n",
                where, percentile(frames_, 0.5), percentile(frames_, 0.99), worst_, worstAt_.c_str(),
                percentile(rows_, 0.99), frames_.size());
    std::printf("  … processor time       %9.2f ms median, %.2f p99\n", percentile(processor_, 0.5),
                percentile(processor_, 0.99));
    frames_.clear();
    processor_.clear();
    rows_.clear();
    worst_ = 0;
  }

  /// Zooms from the whole profile to single steps and back, and pans.
  void far(timeline::TimelineCanvas& canvas) {
    canvas.zoomToAll();
    frame(canvas, "the whole");
    for (int round = 0; round < 2; ++round) {
      for (const double factor : {1.25, 0.8}) {
        for (int i = 0; i < 60; ++i) canvas.zoomBy(factor), frame(canvas, "zoom");
      }
      for (int i = 0; i < 20; ++i) canvas.zoomBy(1.25), frame(canvas, "zoom");
      for (int i = 0; i < 60; ++i) canvas.panBy(i < 30 ? 0.05 : -0.05), frame(canvas, "pan");
      scroll(canvas);
      canvas.zoomToAll();
    }
    report("from afar");
  }

  /// Finds the largest range that is read row by row. Returns false if there is none.
  bool readNear(shell::MainWindow& window, timeline::TimelineCanvas& canvas) {
    canvas.zoomToAll();
    QElapsedTimer clock;
    for (int halved = 0; halved < 30; ++halved) {
      clock.start();
      int quiet = 0;
      while (quiet < 20 && clock.elapsed() < 60'000) {
        QCoreApplication::processEvents(QEventLoop::AllEvents, 5);
        QTest::qSleep(5);
        quiet = window.isSettled() && canvas.isNear() ? quiet + 1 : 0;
      }
      const analysis::Trace& shown = *canvas.scene().model()->trace;
      if (!shown.far && !shown.farSteps) {
        std::printf("  read row by row        %8.0f ms, %lld of %lld ticks in view\n",
                    milliseconds(clock) - 100, static_cast<long long>(canvas.window().view.span()),
                    static_cast<long long>((shown.end - shown.start).count));
        return true;
      }
      canvas.zoomBy(2);
    }
    std::printf("  nothing was read row by row\n");
    return false;
  }

  /// Zooms and pans a little within the range that was read.
  void near(timeline::TimelineCanvas& canvas) {
    frame(canvas, "first");
    for (int round = 0; round < 4; ++round) {
      for (int i = 0; i < 20; ++i) canvas.zoomBy(1.1), frame(canvas, "zoom");
      for (int i = 0; i < 20; ++i) canvas.zoomBy(1 / 1.1), frame(canvas, "zoom");
      for (int i = 0; i < 30; ++i) canvas.panBy(i < 15 ? 0.03 : -0.03), frame(canvas, "pan");
      scroll(canvas);
    }
    const analysis::Trace& shown = *canvas.scene().model()->trace;
    if (shown.far || shown.farSteps) std::printf("  (the view left what was read)\n");
    report("row by row");
  }

  std::vector<double> frames_, processor_, rows_;
  double worst_ = 0;
  std::string worstAt_;
  Watchdog dog_;
};

base::Status make(const std::string& path, bool events) {
  PIPESCOPE_ASSIGN(const std::unique_ptr<store::ProfileWriter> writer, store::ProfileWriter::create(path));
  record::Recorder recorder(*writer);
  return events ? recordEvents(recorder, EventShape{}) : recordPipeline(recorder, PipelineShape{});
}

int runGiven(const std::vector<std::string>& profiles) {
  for (const std::string& profile : profiles) {
    Bench().run(profile.c_str(), profile);
    QThreadPool::globalInstance()->waitForDone();
  }
  return 0;
}

int run(const std::string& folder) {
  for (const bool events : {false, true}) {
    const std::string path = folder + (events ? "/events.pop" : "/pipeline.pop");
    if (!std::filesystem::exists(path)) {
      if (const base::Status made = make(path, events); !made.ok())
        return std::fprintf(stderr, "%s\n", made.error().message.c_str()), 1;
    }
    Bench().run(events ? "10⁷ steps, none repeated, 8 lanes" : "10⁹ steps, repeated, 256 devices", path);
    QThreadPool::globalInstance()->waitForDone();
  }
  return 0;
}

}  // namespace
}  // namespace pipescope::bench

int main(int argc, char** argv) {
  pipescope::shell::keepHeapSmall();  // as the program of the window does
  if (!qEnvironmentVariableIsSet("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
  QApplication application(argc, argv);
  QApplication::setStyle(new pipescope::shell::Style);
  application.setFont(QFont(QStringLiteral("DejaVu Sans"), 9));
  const QTemporaryDir scratch;
  QSettings::setPath(QSettings::IniFormat, QSettings::UserScope, scratch.path());
  if (argc > 1 && std::filesystem::is_regular_file(argv[1]))
    return pipescope::bench::runGiven({argv + 1, argv + argc});
  return pipescope::bench::run(argc > 1 ? argv[1] : scratch.path().toStdString());
}
