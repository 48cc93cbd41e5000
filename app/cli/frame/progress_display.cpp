#include "app/cli/frame/progress_display.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "app/cli/frame/terminal.h"
#include "profiler/base/files/temporary_name.h"

namespace pipescope::cli {
namespace {

volatile std::sig_atomic_t interrupted = 0;   ///< the number of the first signal
volatile std::sig_atomic_t acknowledged = 0;  ///< the work has seen it, and ends by itself

/// Work that does not ask within this time whether to stop has nothing to save, and is ended.
constexpr unsigned kPatienceSeconds = 1;

void onAlarm(int) {
  if (acknowledged != 0) return;
  base::endBySignal(interrupted);
}

void onInterrupt(int signal) {
  interrupted = signal;
  base::removeTemporaryFilesOn(signal);
  alarm(kPatienceSeconds);
}

class Display : public base::Progress {
 public:
  bool cancelled() const override {
    if (interrupted == 0) return false;
    acknowledged = 1;
    return true;
  }
  virtual void finish() {}

 protected:
  /// True at most once per interval, and for the last report.
  bool isDue(double fraction, std::chrono::milliseconds interval) {
    const auto now = std::chrono::steady_clock::now();
    if (shownOnce_ && fraction < 1 && now - last_ < interval) return false;
    shownOnce_ = true;
    last_ = now;
    return true;
  }

 private:
  bool shownOnce_ = false;
  std::chrono::steady_clock::time_point last_;
};

class Silent : public Display {
 public:
  void report(double, std::string_view) override {}
};

class Plain : public Display {
 public:
  void report(double fraction, std::string_view what) override {
    if (isDue(fraction, std::chrono::seconds(1)))
      std::fputs(fmt::format("{:3.0f} %  {}\n", fraction * 100, what).c_str(), stderr);
  }
};

class JsonLines : public Display {
 public:
  void report(double fraction, std::string_view what) override {
    if (!isDue(fraction, std::chrono::milliseconds(100))) return;
    const nlohmann::ordered_json line = {{"fraction", fraction}, {"what", std::string(what)}};
    std::fprintf(stderr, "%s\n", line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
  }
};

class Bar : public Display {
 public:
  void report(double fraction, std::string_view what) override {
    if (!isDue(fraction, std::chrono::milliseconds(50))) return;
    // A line that is longer than the terminal would stay on the screen, because it cannot be overwritten.
    const std::size_t room = terminalWidth(STDERR_FILENO).value_or(kRoomUnknown) - 1;
    const auto elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
    const std::string text = fmt::format(" {:3.0f} %  {:5.1f} s  {}", fraction * 100, elapsed, what);
    const std::size_t cells = std::clamp(room - std::min(room, shownLength(text)), kFewestCells, kMostCells);
    const auto full = static_cast<std::size_t>(fraction * static_cast<double>(cells) + 0.5);
    std::string line;
    for (std::size_t i = 0; i < cells; ++i) line += i < full ? "█" : "░";
    line += text;
    std::fputs(("\r\033[K" + std::string(fitted(line, room))).c_str(), stderr);
    std::fflush(stderr);
    open_ = true;
  }
  void finish() override {
    if (open_) std::fprintf(stderr, "\n");
    open_ = false;
  }

 private:
  static constexpr std::size_t kFewestCells = 8, kMostCells = 24, kRoomUnknown = 120;
  bool open_ = false;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
};

}  // namespace

void catchInterrupts() {
  std::signal(SIGALRM, onAlarm);
  std::signal(SIGINT, onInterrupt);
  std::signal(SIGTERM, onInterrupt);
  // A terminal that is closed ends a run like Ctrl-C, unless the run was started by nohup.
  if (std::signal(SIGHUP, onInterrupt) == SIG_IGN) std::signal(SIGHUP, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);  // the run continues if the reader of its progress has ended
}

int interruptStatus() {
  constexpr int kBySignal = 128;  // shells add it to the number of the signal
  return kBySignal + (interrupted != 0 ? interrupted : SIGINT);
}

std::unique_ptr<base::Progress> makeProgress(const std::string& mode) {
  if (mode == "off") return std::make_unique<Silent>();
  if (mode == "json") return std::make_unique<JsonLines>();
  if (mode == "plain" || isatty(STDERR_FILENO) == 0) return std::make_unique<Plain>();
  return std::make_unique<Bar>();
}

void finishProgress(base::Progress& progress) {
  if (auto* display = dynamic_cast<Display*>(&progress)) display->finish();
}

}  // namespace pipescope::cli
