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
  std::int64_t tables = 0, blocks = 0, rows = 0;  ///< that were read and agree with their checksums
  std::vector<std::string> holes;                 ///< a sentence each, in the order of tables and rows
  std::string contentHash;                        ///< of a profile without holes
};

/// Reads every row of a profile once. Refuses (as ProfileReader::open) what is no profile at all.
base::Result<Verification> verify(const std::filesystem::path& path, base::Progress& progress);

}  // namespace pipescope::store
