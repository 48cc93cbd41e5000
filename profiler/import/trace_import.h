#pragma once
// Makes a profile of the traces that other tools recorded.
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "profiler/base/executor.h"
#include "profiler/base/progress.h"
#include "profiler/base/result.h"
#include "profiler/import/recognise/rules.h"
#include "profiler/record/recorder.h"

namespace pipescope::importing {

/// Ways to put times of several traces on one clock.
enum class ClockChoice {
  automatic,   ///< absolute if all state times since 1970, else align, else firstEvent
  absolute,    ///< times count as the traces state them
  firstEvent,  ///< the first event of each trace is at 0
  align,       ///< the passes of neighbouring stages align the clocks
};

struct ImportRequest {
  std::vector<std::filesystem::path> paths;  ///< files, archives and folders
  std::filesystem::path temporaryFolder;     ///< folder for events that do not fit into memory
  const Rules* rules = &Rules::builtIn();    ///< meaning of events; outlives the import
  ClockChoice clock = ClockChoice::automatic;
  std::set<std::int64_t> ranks;        ///< only traces of these ranks; empty: all
  base::Executor* executor = nullptr;  ///< null: everything runs on the calling thread
};

struct ImportSummary {
  std::int64_t files = 0, ranks = 0, events = 0, slices = 0;
  /// Sentences about what was left out or changed; the profile holds them as diagnostics, too.
  std::vector<std::string> findings;
};

/// Reads all traces and writes their rows to `recorder`, which it finishes. Errors: a path that cannot be
/// read, a file whose format is not known (the sentence lists the known ones), two files of the same rank,
/// and failures of the recorder. Damage within a trace is no error: what is whole is imported.
base::Result<ImportSummary> importTraces(const ImportRequest& request, record::Recorder& recorder,
                                         base::Progress& progress);

}  // namespace pipescope::importing
