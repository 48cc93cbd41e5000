#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "profiler/import/read/source/trace_files.h"
#include "profiler/import/read/trace_data.h"
#include "profiler/import/read/trace_format.h"

namespace pipescope::importing {

/// A file after reading, and its format.
struct ReadTrace {
  std::unique_ptr<TraceData> data;  ///< null: the content is of no known format
  const TraceFormat* format = nullptr;
  /// Says what the user can do with a file of another known format, as the rest of a sentence; else empty.
  std::string advice;
};

/// Reads one file. Events keep the arguments of the given names (Rules::ownArguments), too. Fails if the user
/// cancels, if temporary data cannot be written, or if the format refuses the file.
base::Result<ReadTrace> readTrace(const TraceFile& file, const std::filesystem::path& temporaryFolder,
                                  const std::vector<std::string>& ownArguments, base::Executor& executor,
                                  base::Progress& progress);

}  // namespace pipescope::importing
