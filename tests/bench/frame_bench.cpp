// frame_bench FILE [PAGE …]: measures the frames of the pages of the window with a profile: the pointer moves
// over the page, the wheel zooms with Ctrl in several places and scrolls without it. A frame is all that the
// thread of the window does for one such event, painting included. Runs offscreen at 1600×900, or at the size
// in PIPESCOPE_FRAMES ("3840x2160").
#include <QApplication>
#include <QFont>
#include <QMouseEvent>
#include <QSettings>
#include <QTemporaryDir>
#include <QThreadPool>
#include <QWheelEvent>
#include <cmath>
#include <cstdio>
#include <vector>

#include "app/gui/open_profile.h"
#include "tests/bench/event_turns.h"
#include "views/shell/heap.h"
#include "views/shell/look/style.h"
#include "views/shell/main_window.h"
#include "views/shell/page.h"

namespace pipescope::bench {
namespace {

double share(std::vector<double> values, double part) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1,
                         static_cast<std::size_t>(part * static_cast<double>(values.size())))];
}

/// Sends events to what lies below a point of the page, as the window system does.
class Hand {
 public:
  explicit Hand(shell::MainWindow& window) : window_(window) {}

  void move(const QPoint& at) {
    QWidget& under = widgetAt(at);
    const QPoint local = under.mapFrom(&window_, at);
    QMouseEvent event(QEvent::MouseMove, local, window_.mapToGlobal(at), Qt::NoButton, Qt::NoButton,
                      Qt::NoModifier);
    QApplication::sendEvent(&under, &event);
  }

  void turnWheel(const QPoint& at, int notches, Qt::KeyboardModifiers keys) {
    QWidget& under = widgetAt(at);
    QWheelEvent event(under.mapFrom(&window_, at), window_.mapToGlobal(at), {}, QPoint(0, 120 * notches),
                      Qt::NoButton, keys, Qt::NoScrollPhase, false);
    QApplication::sendEvent(&under, &event);
  }

 private:
  QWidget& widgetAt(const QPoint& at) const {
    QWidget* found = window_.childAt(at);
    return found == nullptr ? window_ : *found;
  }
  shell::MainWindow& window_;
};

/// Counts how often a window is painted.
class PaintCounter : public QObject {
 public:
  int count = 0;
  bool eventFilter(QObject*, QEvent* event) override {
    count += event->type() == QEvent::UpdateRequest ? 1 : 0;
    return false;
  }
};

/// Processor times of the events that made the window paint something.
struct Frames {
  PaintCounter& paints;
  std::vector<double> ms;
  double worst = 0;
  const char* worstAt = "";

  template <class Event>
  void add(const char* what, Event event) {
    const double before = threadMs();
    const int painted = paints.count;
    event();
    QCoreApplication::sendPostedEvents();
    QCoreApplication::processEvents();
    const double took = threadMs() - before;
    if (paints.count == painted) return;
    ms.push_back(took);
    if (took > worst) worst = took, worstAt = what;
  }
};

void settle(const shell::MainWindow& window) {
  LongestTurn turn;
  turn.runUntil([&] { return window.isSettled(); });
}

Frames framesOf(shell::MainWindow& window, PaintCounter& paints) {
  constexpr int kMoves = 300, kZooms = 15, kScrolls = 30, kPlaces = 3;
  Frames frames{paints, {}};
  Hand hand(window);
  const QWidget& page = *window.currentPage();
  const QRect area(page.mapTo(&window, QPoint()), page.size());
  const auto place = [&](double x, double y) {
    return area.topLeft() + QPoint(static_cast<int>(x * area.width()), static_cast<int>(y * area.height()));
  };
  for (int i = 0; i < kMoves; ++i) {
    const double at = i * 0.13;
    frames.add("move",
               [&] { hand.move(place(0.5 + 0.47 * std::sin(at), 0.5 + 0.47 * std::sin(0.71 * at))); });
  }
  for (int p = 0; p < kPlaces; ++p) {
    const QPoint at = place(0.3 + 0.2 * p, 0.35);
    for (const int notches : {1, -1})
      for (int i = 0; i < kZooms; ++i)
        frames.add("zoom", [&] { hand.turnWheel(at, notches, Qt::ControlModifier); });
    settle(window);
  }
  for (const int notches : {-1, 1})
    for (int i = 0; i < kScrolls; ++i)
      frames.add("scroll", [&] { hand.turnWheel(place(0.5, 0.5), notches, Qt::NoModifier); });
  return frames;
}

void run(const QString& file, const QStringList& wanted, const QSize& size) {
  shell::Palette palette;
  palette.setTheme(shell::Theme::light);
  shell::PageRegistry registry;
  shell::registerPages(registry);
  std::printf("processor time of frames in ms at %d×%d\npage             frames   median     p99   worst\n",
              size.width(), size.height());
  for (const shell::PageDefinition& page : registry.all()) {
    if (!wanted.isEmpty() && !wanted.contains(page.id)) continue;
    shell::MainWindow window(registry, palette, gui::openProfile);
    window.resize(size);
    window.show();
    QTimer beat;  // events that end each turn
    beat.start(1);
    window.open(file);
    settle(window);
    window.showPage(page.id);
    settle(window);
    PaintCounter paints;
    qApp->installEventFilter(&paints);
    const Frames frames = framesOf(window, paints);
    qApp->removeEventFilter(&paints);
    std::printf("%-16s %6zu %8.2f %7.2f %7.2f (%s)\n", qPrintable(page.id), frames.ms.size(),
                share(frames.ms, 0.5), share(frames.ms, 0.99), frames.worst, frames.worstAt);
    std::fflush(stdout);
    QThreadPool::globalInstance()->waitForDone();
  }
}

}  // namespace
}  // namespace pipescope::bench

int main(int argc, char** argv) {
  pipescope::shell::keepHeapSmall();
  if (argc < 2) return std::fprintf(stderr, "usage: frame_bench FILE [PAGE …]\n"), 2;
  if (!qEnvironmentVariableIsSet("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
  QApplication application(argc, argv);
  QApplication::setStyle(new pipescope::shell::Style);
  application.setFont(QFont(QStringLiteral("DejaVu Sans"), 9));
  const QTemporaryDir scratch;
  QSettings::setPath(QSettings::IniFormat, QSettings::UserScope, scratch.path());
  QStringList pages;
  for (int i = 2; i < argc; ++i) pages << QString::fromLocal8Bit(argv[i]);
  const QStringList size = QString::fromLocal8Bit(qgetenv("PIPESCOPE_FRAMES")).split(QLatin1Char('x'));
  const bool stated = size.size() == 2 && size[0].toInt() > 0 && size[1].toInt() > 0;
  pipescope::bench::run(QString::fromLocal8Bit(argv[1]), pages,
                        stated ? QSize(size[0].toInt(), size[1].toInt()) : QSize(1600, 900));
  return 0;
}
