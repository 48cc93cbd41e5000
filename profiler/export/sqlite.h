#pragma once
#include <filesystem>

#include "profiler/base/files/output_file.h"
#include "profiler/base/progress.h"
#include "profiler/base/result.h"
#include "profiler/model/source.h"

namespace pipescope::exporting {

/// Writes every table of a profile as a plain SQL table with the same columns, so that people can query it
/// with SQL. Tables with a column start have an index on it. Replaces only databases that were exported.
base::Status exportSqlite(const model::ProfileSource& source, const std::filesystem::path& path,
                          base::Progress& progress, const base::OutputRules& rules = {});

}  // namespace pipescope::exporting
