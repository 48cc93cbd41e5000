#pragma once
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

#include "profiler/base/log.h"

namespace pipescope::gui {

/// The log in $XDG_STATE_HOME/pipescope/window.log (or ~/.local/state/…). Each start of the program replaces
/// it. A separate thread writes it, so that callers never wait for the disk. The first message creates the
/// file. If the file cannot be written, messages are dropped.
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
