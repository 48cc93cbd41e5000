#pragma once
// Where generated digits are kept, so that they are drawn once per machine and user.
#include <filesystem>

#include "engine/data/digit_set.h"

namespace pipescope::data {

/// The folder of the set below `cacheDirectory` (made where missing), generated if it is not there or not
/// whole. The folder's name holds generator version, seed and counts. It appears by one rename, so that
/// neither an interrupted nor a concurrent generation ever shows a part of a set.
base::Result<std::filesystem::path> ensureDigits(const std::filesystem::path& cacheDirectory,
                                                 base::Progress& progress, base::Executor& executor,
                                                 const DigitSetOptions& options = {});

/// $XDG_CACHE_HOME/pipescope, or ~/.cache/pipescope where that is unset or not absolute (XDG Base Directory
/// Specification). Fails where HOME is unset as well.
base::Result<std::filesystem::path> defaultCacheDirectory();

}  // namespace pipescope::data
