#include "profiler/store/profile_path.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

namespace pipescope::store {
namespace fs = std::filesystem;
namespace {

constexpr std::chrono::milliseconds kHeaderPatience{2'000};
constexpr const char* kSiblings[] = {"-journal", "-wal", "-shm"};

constexpr std::size_t kLongestSibling = std::string_view("-journal").size();

fs::path sibling(const fs::path& path, const char* ending) {
  return path.string() + ending;
}

void removeSiblings(const fs::path& path) {
  std::error_code ignored;
  for (const char* ending : kSiblings) fs::remove(sibling(path, ending), ignored);
}

// Makes a rename survive a power failure. A file system that cannot do this reports it here, and nothing more
// can be done.
void syncFolder(const fs::path& folder) {
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  fsync(descriptor);
  close(descriptor);
}

}  // namespace

base::Result<fs::path> outputPath(const fs::path& path) {
  if (path.empty()) return base::badInput("no path is given for the profile.");
  if (base::isStandardOutput(path)) return base::checkOutput(path, base::FileKind::profile, {}).error();
  std::error_code failed;
  PIPESCOPE_ASSIGN(const fs::path target, base::followLinks(path));
  const fs::path absolute = fs::absolute(target, failed).lexically_normal();
  if (fs::is_directory(absolute, failed) || !absolute.has_filename()) {
    return base::ioError(fmt::format("{} is a folder; name a file in it, such as {}.", path.string(),
                                     (path / "profile.pop").string()));
  }
  const fs::path folder = absolute.parent_path();
  if (folder.empty()) {
    return base::ioError(
        fmt::format("cannot write {}: the current folder is gone; change to another one.", path.string()));
  }
  if (!fs::is_directory(folder, failed)) {
    return base::ioError(
        fmt::format("cannot write {}: {} is not a folder; make it first, or choose another path.",
                    path.string(), folder.string()));
  }
  if (absolute.filename().string().size() + kLongestSibling > base::kMostNameBytes) {
    return base::badInput(fmt::format(
        "the name of the profile, {}…, is longer than {} bytes: SQLite writes a file beside it with a name "
        "that is {} bytes longer. Choose a shorter name.",
        absolute.filename().string().substr(0, 40), base::kMostNameBytes - kLongestSibling, kLongestSibling));
  }
  const fs::path resolved = fs::weakly_canonical(absolute, failed);
  return failed ? absolute : resolved;
}

fs::path partPath(const fs::path& path) {
  return base::besidePath(path, "", ".part", kLongestSibling);
}

fs::path temporaryPath(const fs::path& path) {
  return base::besidePath(path, ".", ".partial", kLongestSibling);
}

std::vector<base::TemporaryName> temporaryDatabase(const fs::path& path) {
  std::vector<base::TemporaryName> names;
  names.emplace_back(path);
  for (const fs::path& beside : databaseSiblings(path)) names.emplace_back(beside);
  return names;
}

std::vector<fs::path> databaseSiblings(const fs::path& path) {
  std::vector<fs::path> all;
  for (const char* ending : kSiblings) all.push_back(sibling(path, ending));
  return all;
}

base::Status checkProfileOutput(const fs::path& path, const base::OutputRules& rules) {
  PIPESCOPE_TRY(base::checkOutput(path, base::FileKind::profile, rules));
  std::error_code failed;
  if (!fs::exists(path, failed)) return {};
  // Nobody named this file, so --overwrite is not about it.
  const std::string advice = "A run writes there while " + path.filename().string() +
                             " holds an older profile: move that file away, or choose another name.";
  return base::checkOutput(partPath(path), base::FileKind::profile, {rules.inputs, false, advice});
}

base::Status checkPlainFile(const fs::path& path) {
  std::error_code failed;
  const fs::file_status status = fs::status(path, failed);
  if (status.type() == fs::file_type::not_found) {
    return base::ioError(fmt::format("{} does not exist; check the path.", path.string()));
  }
  if (fs::is_directory(status)) {
    return base::ioError(fmt::format("{} is a folder; name a profile in it.", path.string()));
  }
  if (status.type() == fs::file_type::none) {
    return base::ioError(fmt::format("{}: {}; check the path.", path.string(), failed.message()));
  }
  if (!fs::is_regular_file(status)) {
    return base::badInput(fmt::format("{} is not a plain file, so it cannot be a profile.", path.string()));
  }
  return {};
}

void removeWithSiblings(const fs::path& path) {
  std::error_code ignored;
  fs::remove(path, ignored);
  removeSiblings(path);
}

base::Status moveInto(const fs::path& closed, const fs::path& path) {
  // An older profile whose writer was killed may have a journal next to it. SQLite must not take it for a
  // journal of the new file. The old file must stay whole until the rename, so its journal is rolled back
  // first.
  std::error_code failed;
  if (fs::exists(sibling(path, "-journal"), failed))
    static_cast<void>(rollBack(path.string(), kHeaderPatience));
  removeSiblings(path);
  fs::rename(closed, path, failed);
  if (failed) {
    return base::ioError(fmt::format("cannot put the profile at {}: {}; check the folder and run again.",
                                     path.string(), failed.message()));
  }
  syncFolder(path.parent_path());
  return {};
}

base::Error aboutNamedFile(const base::Error& error, const fs::path& temporary, const fs::path& path) {
  std::string message = error.message;
  const auto replace = [&message](std::string_view what, const std::string& by) {
    if (const std::size_t at = message.find(what); at != std::string::npos)
      message.replace(at, what.size(), by);
  };
  std::error_code failed;
  replace(temporary.string(), path.string());
  replace(kKeptSoFar, fs::exists(path, failed) ? "the older file there is untouched" : "nothing was written");
  return {error.kind, message};
}

base::Status rollBack(const std::string& path, std::chrono::milliseconds patience) {
  PIPESCOPE_ASSIGN(Database file, Database::open(path, Database::Mode::readWrite, patience));
  return file.execute("SELECT count(*) FROM sqlite_schema");
}

}  // namespace pipescope::store
