#include "engine/data/digits/digit_cache.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <system_error>

#include "engine/data/digits/digit_renderer.h"
#include "engine/data/digits/mnist_files.h"
#include "engine/data/file_system.h"
#include "engine/data/idx_file.h"

namespace pipescope::data {

namespace fs = std::filesystem;

namespace {

std::string folderName(const DigitSetOptions& options) {
  return fmt::format("digits-v{}-seed{}-{}-{}", digitGeneratorVersion, options.seed, options.trainCount,
                     options.testCount);
}

bool hasSize(const fs::path& file, std::int64_t bytes) {
  std::error_code error;
  return fs::is_regular_file(file, error) &&
         fs::file_size(file, error) == static_cast<std::uintmax_t>(bytes) && !error;
}

/// True if all four files exist and have the right sizes. Reading checks their headers.
bool whole(const fs::path& folder, const DigitSetOptions& options) {
  constexpr std::int64_t imageHeader = 16;
  constexpr std::int64_t labelHeader = 8;
  constexpr auto pixels = static_cast<std::int64_t>(digitSide * digitSide);
  for (const DataSplit split : {DataSplit::train, DataSplit::test}) {
    const std::int64_t count = split == DataSplit::train ? options.trainCount : options.testCount;
    if (!hasSize(folder / mnistFileName(split, IdxKind::images), imageHeader + count * pixels)) return false;
    if (!hasSize(folder / mnistFileName(split, IdxKind::labels), labelHeader + count)) return false;
  }
  return true;
}

/// Renames a finished set to its final name. If another program has put a set there meanwhile, that set is
/// used.
base::Status publish(const TemporaryDirectory& made, const fs::path& folder, const DigitSetOptions& options) {
  std::error_code error;
  for (int attempt = 0; attempt < 3; ++attempt) {
    fs::rename(made.path(), folder, error);
    if (!error || whole(folder, options)) return {};
    // Something incomplete has the name. A rename cannot replace it in one step, so another rename moves it
    // aside first.
    PIPESCOPE_ASSIGN(const TemporaryDirectory aside,
                     TemporaryDirectory::create(folder.parent_path(), "." + folder.filename().string()));
    std::error_code gone;
    fs::rename(folder, aside.path() / "damaged", gone);
  }
  return base::ioError(fmt::format("cannot rename '{}' to '{}': {}; remove what has that name",
                                   made.path().string(), folder.string(), error.message()));
}

}  // namespace

base::Result<fs::path> ensureDigits(const fs::path& cacheDirectory, base::Progress& progress,
                                    base::Executor& executor, const DigitSetOptions& options) {
  constexpr std::int64_t most = maximumIdxBytes / static_cast<std::int64_t>(digitSide * digitSide);
  for (const std::int64_t count : {options.trainCount, options.testCount}) {
    if (count < 1 || count > most) {
      return base::badInput(fmt::format(
          "{} digit images cannot be generated; give 1…{} for training and for test", count, most));
    }
  }
  const fs::path folder = cacheDirectory / folderName(options);
  if (whole(folder, options)) return folder;
  PIPESCOPE_TRY(makeDirectories(cacheDirectory));
  removeStale(cacheDirectory, ".digits-");
  PIPESCOPE_ASSIGN(const TemporaryDirectory made,
                   TemporaryDirectory::create(cacheDirectory, "." + folderName(options)));
  PIPESCOPE_TRY(writeDigitSet(made.path(), options, progress, executor));
  PIPESCOPE_TRY(publish(made, folder, options));
  return folder;
}

base::Result<fs::path> defaultCacheDirectory() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && fs::path(cache).is_absolute()) return fs::path(cache) / "pipescope";
  const char* home = std::getenv("HOME");
  if (home != nullptr && fs::path(home).is_absolute()) return fs::path(home) / ".cache" / "pipescope";
  return base::ioError(
      "there is no folder for generated data: neither XDG_CACHE_HOME nor HOME is set to an absolute path; "
      "set one of them");
}

}  // namespace pipescope::data
