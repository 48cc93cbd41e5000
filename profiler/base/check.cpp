#include "profiler/base/check.h"

#include <atomic>
#include <cstdlib>

namespace pipescope::base {
namespace {
std::atomic<CheckHandler> handler_{nullptr};
}

void setCheckHandler(CheckHandler handler) {
  handler_ = handler;
}

void checkFailed(const char* file, int line, const char* expression, const std::string& detail) {
  if (CheckHandler handler = handler_) {
    handler(std::string(file) + ":" + std::to_string(line) + ": " + detail + " (" + expression + ")");
  }
  std::abort();
}

}  // namespace pipescope::base
