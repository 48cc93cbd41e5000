#pragma once
#include <filesystem>

#include "profiler/base/progress.h"
#include "profiler/base/result.h"
#include "profiler/model/source.h"

namespace pipescope::store {

/// Writes every table of a profile as a plain SQL table with its own columns, for people's own queries; with
/// an index on start where a table has one. Refuses to overwrite anything.
base::Status exportSqlite(const model::ProfileSource& source, const std::filesystem::path& path,
                          base::Progress& progress);

}  // namespace pipescope::store
