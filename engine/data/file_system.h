#pragma once
// The few things that this folder needs from the file system, with sentences instead of exceptions.
#include <filesystem>
#include <string>

#include "profiler/base/result.h"

namespace pipescope::data {

/// Makes a folder and those above it; one that is there is fine.
base::Status makeDirectories(const std::filesystem::path& directory);

/// A new folder `PREFIX-PID-N` in an existing one, removed with its content at the end unless it was moved
/// away.
class TemporaryDirectory {
 public:
  static base::Result<TemporaryDirectory> create(const std::filesystem::path& parent,
                                                 const std::string& prefix);
  ~TemporaryDirectory();
  TemporaryDirectory(TemporaryDirectory&& other) noexcept;
  TemporaryDirectory& operator=(TemporaryDirectory&&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  explicit TemporaryDirectory(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

/// Removes what killed programs left: entries of `parent` whose name starts with `prefix`, unchanged for an
/// hour.
void removeStale(const std::filesystem::path& parent, const std::string& prefix);

}  // namespace pipescope::data
