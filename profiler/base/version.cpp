#include "profiler/base/version.h"

namespace pipescope::base {

const char* version() {
  return PIPESCOPE_VERSION;
}

std::string versionText(const std::string& format) {
  const std::string commit = PIPESCOPE_COMMIT;
  return "pipescope " PIPESCOPE_VERSION "\nprofile format " + format + "\ncommit " +
         (commit.empty() ? "not recorded" : commit) + "\nbuild type " PIPESCOPE_BUILD_TYPE;
}

}  // namespace pipescope::base
