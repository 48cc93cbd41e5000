#include "profiler/store/writer_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "profiler/base/log.h"

namespace pipescope::store {
namespace {

std::string holderOf(int descriptor) {
  std::array<char, 32> text{};
  const ssize_t count = pread(descriptor, text.data(), text.size() - 1, 0);
  return count > 0 ? fmt::format(" (process {})", text.data()) : "";
}

// The holder removes the file when it is done. A lock of a file that is no longer at its path protects
// nothing.
bool isStillAt(int descriptor, const std::string& path) {
  struct stat opened {
  }, named{};
  return fstat(descriptor, &opened) == 0 && stat(path.c_str(), &named) == 0 &&
         opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

base::Error cannotWrite(const std::filesystem::path& file) {
  const std::string folder = file.parent_path().string();
  return base::ioError(fmt::format("cannot write to the folder {}: {}; choose another place for {}.",
                                   folder.empty() ? "." : folder, std::strerror(errno),
                                   file.filename().string()));
}

}  // namespace

base::Result<WriterLock> WriterLock::acquire(const std::filesystem::path& file) {
  const std::string path = base::besidePath(file, ".", ".lock").string();
  std::string holder;
  constexpr int kMostTries = 100;  // A try fails if a writer ends between two of our calls.
  for (int i = 0; i < kMostTries; ++i) {
    WriterLock lock;
    const base::SignalsWait named;
    lock.descriptor_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (lock.descriptor_ < 0) return cannotWrite(file);
    if (flock(lock.descriptor_, LOCK_EX | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK) {
        holder = holderOf(lock.descriptor_);
        break;
      }
      base::log(base::LogLevel::warning,
                fmt::format("{}: this file system has no locks ({}); do not write {} twice", path,
                            std::strerror(errno), file.string()));
    }
    if (!isStillAt(lock.descriptor_, path)) continue;
    lock.path_ = path;
    lock.name_ = base::TemporaryName(path);
    // Only a message names the holder, so a full disk is no failure here.
    const std::string pid = std::to_string(getpid());
    if (ftruncate(lock.descriptor_, 0) == 0) (void)!pwrite(lock.descriptor_, pid.data(), pid.size(), 0);
    return lock;
  }
  return base::ioError(fmt::format(
      "{} is being written by another run{}; wait for it, or choose another path.", file.string(), holder));
}

WriterLock::WriterLock(WriterLock&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      path_(std::exchange(other.path_, {})),
      name_(std::move(other.name_)) {}

WriterLock& WriterLock::operator=(WriterLock&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(path_, other.path_);
  std::swap(name_, other.name_);
  return *this;
}

void WriterLock::release() {
  if (!path_.empty()) unlink(path_.c_str());
  if (descriptor_ >= 0) close(descriptor_);
  path_.clear();
  name_.forget();
  descriptor_ = -1;
}

}  // namespace pipescope::store
