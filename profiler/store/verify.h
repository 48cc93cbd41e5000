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
  std::string contentHash;                        ///< hash of a profile without holes

  bool isDamaged() const { return !holes.empty(); }
  /// False for a run that was stopped, failed, or is still running.
  bool isComplete() const { return state.state == model::ProfileState::complete; }
};

/// Reads every row of a profile once. A damaged or cut file is no error if it can be told from its content
/// that it was a profile of this format: then its damage is a hole. Errors: a file that cannot be read (io),
/// is no profile or is of another format (badInput).
base::Result<Verification> verify(const std::filesystem::path& path, base::Progress& progress);

}  // namespace pipescope::store
