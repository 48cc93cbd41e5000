#pragma once
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

#include "profiler/base/log.h"

namespace pipescope::gui {

/// What the program noted, in $XDG_STATE_HOME/pipescope/window.log (or ~/.local/state/…), begun anew with
/// each start. Written by a thread of its own: whoever logs never waits for the disk. Nothing is written
/// before the first note; where the file cannot be written, notes are dropped.
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
