#pragma once
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

#include "profiler/base/log.h"

namespace pipescope::gui {

/// The log in $XDG_STATE_HOME/pipescope/window.log (or ~/.local/state/…). Each start begins it anew. A thread
/// of its own writes it, so that nobody who logs waits for the disk. The file is made with the first note;
/// where it cannot be written, notes are dropped.
class LogFile {
 public:
  LogFile();
  ~LogFile();
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;

  void write(base::LogLevel level, const std::string& message);
  static std::string path();

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> waiting_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace pipescope::gui
