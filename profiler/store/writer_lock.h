#pragma once
#include <filesystem>
#include <string>

#include "profiler/base/result.h"

namespace pipescope::store {

/// Keeps a second writer away from a profile with a locked file `.NAME.lock` next to it, which is removed
/// with this object. The system releases the lock of a killed writer, and the next writer takes the file
/// over.
class WriterLock {
 public:
  static base::Result<WriterLock> acquire(const std::filesystem::path& profile);

  WriterLock() = default;
  WriterLock(WriterLock&& other) noexcept;
  WriterLock& operator=(WriterLock&& other) noexcept;
  ~WriterLock() { release(); }
  void release();

 private:
  int descriptor_ = -1;
  std::string path_;
};

}  // namespace pipescope::store
