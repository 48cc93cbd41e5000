#include "profiler/import/read/source/temporary_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace pipescope::importing {

std::FILE* openTemporaryFile(const std::filesystem::path& folder) {
  const int descriptor = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  return descriptor >= 0 ? fdopen(descriptor, "w+b") : std::tmpfile();
}

base::Error temporaryFileFailure(const std::filesystem::path& folder) {
  return base::ioError(
      fmt::format("Temporary data cannot be written to {}: {}; choose an output on a disk with more room.",
                  folder.string(), std::strerror(errno)));
}

}  // namespace pipescope::importing
