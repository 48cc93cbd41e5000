#pragma once
#include <cstdio>
#include <filesystem>

#include "profiler/base/result.h"

namespace pipescope::importing {

/// Opens a file in `folder` that has no name, so that nothing is left behind. Null: see errno.
std::FILE* openTemporaryFile(const std::filesystem::path& folder);
/// A sentence on the errno of a temporary file that cannot be opened or written.
base::Error temporaryFileFailure(const std::filesystem::path& folder);

}  // namespace pipescope::importing
