#pragma once
#include <filesystem>
#include <string>

#include "profiler/base/result.h"

namespace pipescope::store {

/// Ends a profile whose writer is gone: its state becomes `incomplete` with this reason. Returns false if the
/// profile has ended already. Errors (io, badInput): what ProfileReader refuses, a writer that still runs, a
/// folder that cannot be written.
base::Result<bool> endProfile(const std::filesystem::path& path, const std::string& reason);

}  // namespace pipescope::store
