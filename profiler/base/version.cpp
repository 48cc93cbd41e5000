#include "profiler/base/version.h"

namespace pipescope::base {
const char* version() {
  return PIPESCOPE_VERSION;
}
}  // namespace pipescope::base
