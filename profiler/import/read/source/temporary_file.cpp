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
  const int number = errno;
  const std::string message =
      fmt::format("Temporary data cannot be written to {}: {}; choose an output on a disk with more room.",
                  folder.string(), std::strerror(number));
  const bool lacks =
      number == ENOSPC || number == EDQUOT || number == EFBIG || number == EMFILE || number == ENFILE;
  return lacks ? base::machineError(message) : base::ioError(message);
}

}  // namespace pipescope::importing
