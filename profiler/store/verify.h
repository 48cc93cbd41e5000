#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "profiler/base/progress.h"
#include "profiler/base/result.h"
#include "profiler/model/source.h"

namespace pipescope::store {

struct Verification {
  model::SourceState state;
  std::int64_t tables = 0, blocks = 0, rows = 0;  ///< counts of what was read and agrees with its checksum
  std::vector<std::string> holes;                 ///< one sentence each, in the order of tables and rows
  std::string contentHash;                        ///< only for a profile without holes
};

/// Reads every row of a profile once. Errors are those of ProfileReader::open.
base::Result<Verification> verify(const std::filesystem::path& path, base::Progress& progress);

}  // namespace pipescope::store
