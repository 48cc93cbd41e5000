#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "profiler/base/progress.h"
#include "profiler/import/read/trace_data.h"
#include "profiler/record/recorder.h"

namespace pipescope::importing {

/// What a restored profile holds.
struct RestoredProfile {
  std::int64_t slices = 0;  ///< placements, transfers and waits
  model::ProfileState state = model::ProfileState::complete;
  std::string reason;
};

/// Writes the rows that an export of ours carries (exporting::CarriedRows), so that the profile is that which
/// was exported. Nothing, and no row is written, if the trace carries none; or if it was cut, filtered or
/// changed so that they do not fit together or to its events, which a finding of the trace says then. Does
/// not finish the recorder.
base::Result<std::optional<RestoredProfile>> restoreRows(TraceData& trace, record::Recorder& recorder,
                                                         base::Progress& progress);

}  // namespace pipescope::importing
