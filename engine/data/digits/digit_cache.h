#pragma once
// The cache of generated digits, which are drawn only once per machine and user.
#include <filesystem>

#include "engine/data/digits/digit_set.h"

namespace pipescope::data {

/// Returns the folder of the set below `cacheDirectory`, and generates it if it is missing or incomplete. The
/// folder's name holds the generator's version, the seed and the counts. It appears by one rename, so that an
/// interrupted or concurrent generation never shows part of a set.
base::Result<std::filesystem::path> ensureDigits(const std::filesystem::path& cacheDirectory,
                                                 base::Progress& progress, base::Executor& executor,
                                                 const DigitSetOptions& options = {});

/// $XDG_CACHE_HOME/pipescope, or ~/.cache/pipescope if that is unset or not absolute (XDG Base Directory
/// Specification). Fails if HOME is unset as well.
base::Result<std::filesystem::path> defaultCacheDirectory();

}  // namespace pipescope::data
