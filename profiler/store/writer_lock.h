#pragma once
#include <filesystem>
#include <string>

#include "profiler/base/files/temporary_name.h"
#include "profiler/base/result.h"

namespace pipescope::store {

/// Keeps a second writer away from a profile, or from the table of a sweep, with a locked file `.NAME.lock`
/// next to it, which is removed with this object and by signals that end the program. The system releases the
/// lock of a killed writer, and the next writer takes the file over.
class WriterLock {
 public:
  static base::Result<WriterLock> acquire(const std::filesystem::path& file);

  WriterLock() = default;
  WriterLock(WriterLock&& other) noexcept;
  WriterLock& operator=(WriterLock&& other) noexcept;
  ~WriterLock() { release(); }
  void release();

 private:
  int descriptor_ = -1;
  std::string path_;
  base::TemporaryName name_;
};

}  // namespace pipescope::store
