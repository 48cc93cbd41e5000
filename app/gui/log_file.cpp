#include "app/gui/log_file.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

namespace pipescope::gui {
namespace {
constexpr std::size_t kMostWaiting = 10'000;

const char* nameOf(base::LogLevel level) {
  return level >= base::LogLevel::error ? "error" : level >= base::LogLevel::warning ? "warning" : "note";
}
}  // namespace

LogFile::LogFile() : thread_([this] { run(); }) {}

LogFile::~LogFile() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  base::setLogSink({});
  changed_.notify_one();
  thread_.join();
}

std::string LogFile::path() {
  const char* state = std::getenv("XDG_STATE_HOME");
  const char* home = std::getenv("HOME");
  if (state != nullptr && *state != '\0') return std::string(state) + "/pipescope/window.log";
  return std::string(home == nullptr ? "" : home) + "/.local/state/pipescope/window.log";
}

void LogFile::write(base::LogLevel level, const std::string& message) {
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() >= kMostWaiting) return;
    waiting_.push_back(std::string(nameOf(level)) + ": " + message);
  }
  changed_.notify_one();
}

void LogFile::run() {
  std::ofstream file;
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stop_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const std::deque<std::string> lines = std::exchange(waiting_, {});
    lock.unlock();
    if (!file.is_open()) {
      std::error_code ignored;
      std::filesystem::create_directories(std::filesystem::path(path()).parent_path(), ignored);
      file.open(path(), std::ios::trunc);
    }
    for (const std::string& line : lines) file << line << '\n';
    file.flush();
    lock.lock();
  }
}

}  // namespace pipescope::gui
