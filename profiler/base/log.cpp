#include "profiler/base/log.h"

#include <mutex>
#include <utility>

namespace pipescope::base {
namespace {
std::mutex& sinkMutex() {
  static std::mutex mutex;
  return mutex;
}
LogSink& sink() {
  static LogSink current;
  return current;
}
}  // namespace

void setLogSink(LogSink newSink) {
  const std::lock_guard lock(sinkMutex());
  sink() = std::move(newSink);
}

void log(LogLevel level, const std::string& message) {
  const std::lock_guard lock(sinkMutex());
  if (sink()) sink()(level, message);
}

}  // namespace pipescope::base
