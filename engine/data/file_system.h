#pragma once
// File-system functions that return an error sentence instead of throwing.
#include <filesystem>
#include <string>

#include "profiler/base/result.h"

namespace pipescope::data {

/// Makes a folder and those above it. The folder may already exist.
base::Status makeDirectories(const std::filesystem::path& directory);

/// A new folder `PREFIX-PID-N` in an existing one. It is removed with its content at the end unless it was
/// moved away.
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

/// Removes what killed programs left behind: entries of `parent` whose name starts with `prefix` and that did
/// not change for an hour.
void removeStale(const std::filesystem::path& parent, const std::string& prefix);

}  // namespace pipescope::data
