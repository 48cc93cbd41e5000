// page_bench FILE [SOURCE] [PAGE …]: measures the pages of the window with a profile: the time until they
// show the first part of their content and all of it, the processor time of all threads until then, and the
// longest time in which the thread of the window did not return to its event loop, also when the file is
// then opened again. With SOURCE, the page
// Compare compares it with FILE; "-": none. Runs offscreen at 1600×900.
#include <QApplication>
#include <QFont>
#include <QSettings>
#include <QTemporaryDir>
#include <QThreadPool>
#include <cstdio>

#include "app/gui/open_profile.h"
#include "tests/bench/event_turns.h"
#include "views/pages/parts/charts/compare_charts.h"
#include "views/shell/comparison.h"
#include "views/shell/heap.h"
#include "views/shell/look/style.h"
#include "views/shell/main_window.h"
#include "views/shell/page.h"

namespace pipescope::bench {
namespace {

struct Measured {
  double shownMs = 0, processorMs = 0;
  LongestTurn turn;
  double firstMs = -1, firstProcessorMs = 0;  ///< until the page shows the first part of its content
  double figuresMs = -1;                      ///< until the page Compare shows how the step has changed
};

bool showsChange(const shell::MainWindow& window) {
  if (window.currentPage() == nullptr) return false;
  const auto* change = window.currentPage()->findChild<pages::StepWaterfall*>();
  return change != nullptr && !change->values().empty();
}

/// Runs the event loop until the window is settled, and paints it.
Measured settle(shell::MainWindow& window) {
  Measured made;
  QElapsedTimer whole;
  whole.start();
  const double begun = processorMs();
  made.turn.runUntil([&] {
    if (made.firstMs < 0 && window.currentPage() != nullptr && window.currentPage()->showsContent()) {
      made.firstMs = static_cast<double>(whole.nsecsElapsed()) * 1e-6;
      made.firstProcessorMs = processorMs() - begun;
    }
    if (made.figuresMs < 0 && showsChange(window))
      made.figuresMs = static_cast<double>(whole.nsecsElapsed()) * 1e-6;
    return window.isSettled();
  });
  made.turn.measure([&] { window.repaint(); });
  made.processorMs = processorMs() - begun;
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
      "opened again: its processor ms  peak MiB\n");
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
    window.open(file);
    const Measured again = settle(window);
    std::printf("%-16s %8.0f  %12.0f  %6.0f  %12.0f  %15.1f  %16.1f  %30.1f  %8ld\n", qPrintable(page.id),
                made.firstMs, made.firstProcessorMs, made.shownMs, made.processorMs, made.turn.ms,
                made.turn.processorMs, again.turn.processorMs, used.ru_maxrss / 1024);
    if (made.figuresMs >= 0) std::printf("%-16s %8.0f\n", "  its figures", made.figuresMs);
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
