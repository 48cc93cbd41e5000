// page_bench FILE [SOURCE] [PAGE …]: measures the pages of the window with a profile: the time until they
// show the first part of their content and all of it, the processor time of all threads until then, and the
// longest time in which the thread of the window did not return to its event loop. With SOURCE, the page
// Compare compares it with FILE; "-": none. Runs offscreen at 1600×900.
#include <sys/resource.h>

#include <QApplication>
#include <QElapsedTimer>
#include <QFont>
#include <QSettings>
#include <QTemporaryDir>
#include <QThreadPool>
#include <algorithm>
#include <cstdio>

#include "app/gui/open_profile.h"
#include "views/shell/comparison.h"
#include "views/shell/heap.h"
#include "views/shell/main_window.h"
#include "views/shell/page.h"
#include "views/shell/style.h"

namespace pipescope::bench {
namespace {

constexpr int kLongestWaitMs = 300'000;

double processorMs(int who) {
  rusage used{};
  getrusage(who, &used);
  return static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e3 +
         static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-3;
}

struct Measured {
  double shownMs = 0, processorMs = 0, longestMs = 0, longestProcessorMs = 0;
  double firstMs = -1, firstProcessorMs = 0;  ///< until the page shows the first part of its content
};

/// Runs the event loop until the window is settled. Each turn is one time without an answer; its processor
/// time counts where other programs share the machine.
Measured settle(shell::MainWindow& window) {
  Measured made;
  QElapsedTimer whole, turn;
  whole.start();
  const double begun = processorMs(RUSAGE_SELF);
  do {
    turn.start();
    const double before = processorMs(RUSAGE_THREAD);
    // Without a limit of time, because the function would otherwise not wait but use a core.
    QCoreApplication::processEvents(QEventLoop::AllEvents | QEventLoop::WaitForMoreEvents);
    made.longestProcessorMs = std::max(made.longestProcessorMs, processorMs(RUSAGE_THREAD) - before);
    made.longestMs = std::max(made.longestMs, static_cast<double>(turn.nsecsElapsed()) * 1e-6);
    if (made.firstMs < 0 && window.currentPage() != nullptr && window.currentPage()->showsContent()) {
      made.firstMs = static_cast<double>(whole.nsecsElapsed()) * 1e-6;
      made.firstProcessorMs = processorMs(RUSAGE_SELF) - begun;
    }
  } while (!window.isSettled() && whole.elapsed() < kLongestWaitMs);
  made.processorMs = processorMs(RUSAGE_SELF) - begun;
  made.shownMs = static_cast<double>(whole.nsecsElapsed()) * 1e-6;
  return made;
}

void run(const QString& file, const QString& source, const QStringList& wanted) {
  shell::Palette palette;
  palette.setTheme(shell::Theme::light);
  shell::PageRegistry registry;
  shell::registerPages(registry);
  std::printf(
      "page             first ms  processor ms  all ms  processor ms  longest turn ms  its processor ms  "
      "peak MiB\n");
  for (const shell::PageDefinition& page : registry.all()) {
    if (page.id == QLatin1String("compare") && source.isEmpty()) continue;
    if (!wanted.isEmpty() && !wanted.contains(page.id)) continue;
    shell::MainWindow window(registry, palette, gui::openProfile);
    window.resize(1600, 900);
    window.show();
    QTimer beat;  // events that end each turn
    beat.start(1);
    window.open(file);
    settle(window);
    if (page.id == QLatin1String("compare")) window.compareWith(source);
    window.showPage(page.id);
    const Measured made = settle(window);
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    std::printf("%-16s %8.0f  %12.0f  %6.0f  %12.0f  %15.1f  %16.1f  %8ld\n", qPrintable(page.id),
                made.firstMs, made.firstProcessorMs, made.shownMs, made.processorMs, made.longestMs,
                made.longestProcessorMs, used.ru_maxrss / 1024);
    std::fflush(stdout);
    QThreadPool::globalInstance()->waitForDone();
  }
}

}  // namespace
}  // namespace pipescope::bench

int main(int argc, char** argv) {
  pipescope::shell::keepHeapSmall();
  if (argc < 2) return std::fprintf(stderr, "usage: page_bench FILE [SOURCE] [PAGE …]\n"), 2;
  if (!qEnvironmentVariableIsSet("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
  QApplication application(argc, argv);
  QApplication::setStyle(new pipescope::shell::Style);
  application.setFont(QFont(QStringLiteral("DejaVu Sans"), 9));
  const QTemporaryDir scratch;
  QSettings::setPath(QSettings::IniFormat, QSettings::UserScope, scratch.path());
  QString source = argc > 2 ? QString::fromLocal8Bit(argv[2]) : QString();
  if (source == QLatin1String("-")) source.clear();
  QStringList pages;
  for (int i = 3; i < argc; ++i) pages << QString::fromLocal8Bit(argv[i]);
  pipescope::bench::run(QString::fromLocal8Bit(argv[1]), source, pages);
  return 0;
}
