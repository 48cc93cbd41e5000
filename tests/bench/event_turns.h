#pragma once
// Measures how long the thread of the window does not return to its event loop.
#include <sys/resource.h>

#include <QCoreApplication>
#include <QElapsedTimer>
#include <QTimer>
#include <algorithm>
#include <ctime>

namespace pipescope::bench {

/// Processor time of all threads.
inline double processorMs() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e3 +
         static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-3;
}

/// Processor time of this thread.
inline double threadMs() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) * 1e3 + static_cast<double>(used.tv_nsec) * 1e-6;
}

/// The longest turn of the event loop. Its processor time counts where other programs share the machine.
struct LongestTurn {
  double ms = 0, processorMs = 0;

  /// Runs one turn, or what takes the place of one.
  template <class Turn>
  void measure(Turn turn) {
    QElapsedTimer clock;
    clock.start();
    const double before = threadMs();
    turn();
    processorMs = std::max(processorMs, threadMs() - before);
    ms = std::max(ms, static_cast<double>(clock.nsecsElapsed()) * 1e-6);
  }
  /// Runs the event loop until done(). A timer must end its turns.
  template <class Done>
  void runUntil(Done done) {
    constexpr int kLongestWaitMs = 300'000;
    QElapsedTimer whole;
    whole.start();
    do {
      // The call has no limit of time, because with one the function would not wait but use a core.
      measure([] { QCoreApplication::processEvents(QEventLoop::AllEvents | QEventLoop::WaitForMoreEvents); });
    } while (!done() && whole.elapsed() < kLongestWaitMs);
  }
};

}  // namespace pipescope::bench
