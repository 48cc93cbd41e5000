#include "engine/data/file_system.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <system_error>
#include <utility>

namespace pipescope::data {

namespace fs = std::filesystem;

base::Status makeDirectories(const fs::path& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (!error) return {};
  return base::ioError(
      fmt::format("cannot make the folder '{}': {}; check its permissions or name another folder",
                  directory.string(), error.message()));
}

base::Result<TemporaryDirectory> TemporaryDirectory::create(const fs::path& parent,
                                                            const std::string& prefix) {
  // A name may be taken by another thread, by another machine on a shared disk, or by a program that was
  // killed.
  for (int number = 0; number < 100; ++number) {
    fs::path path = parent / fmt::format("{}-{}-{}", prefix, ::getpid(), number);
    std::error_code error;
    if (fs::create_directory(path, error)) return TemporaryDirectory(std::move(path));
    if (error) {
      return base::ioError(
          fmt::format("cannot make the folder '{}': {}; check the permissions of '{}' or name another folder",
                      path.string(), error.message(), parent.string()));
    }
  }
  return base::ioError(fmt::format("'{}' is full of folders '{}-…' of programs that were killed; remove them",
                                   parent.string(), prefix));
}

TemporaryDirectory::TemporaryDirectory(TemporaryDirectory&& other) noexcept
    : path_(std::exchange(other.path_, {})) {}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

void removeStale(const fs::path& parent, const std::string& prefix) {
  std::error_code error;
  const auto now = fs::file_time_type::clock::now();
  for (fs::directory_iterator entry(parent, error), end; !error && entry != end; entry.increment(error)) {
    if (!entry->path().filename().string().starts_with(prefix)) continue;
    std::error_code ignored;
    const auto changed = fs::last_write_time(entry->path(), ignored);
    if (!ignored && now - changed > std::chrono::hours(1)) fs::remove_all(entry->path(), ignored);
  }
}

}  // namespace pipescope::data
