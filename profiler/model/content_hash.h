#pragma once
#include <string>

#include "profiler/base/progress.h"
#include "profiler/model/source.h"

namespace pipescope::model {

/// 32 hexadecimal digits that are equal for runs of equal configuration and seed. Left out is what the host
/// and the moment decide: host times (Run's wall columns, outcomes host_…), the properties created_utc,
/// command_line and recorder_…, notes, and what derives from other rows (LevelNode). Reads the whole profile,
/// by block.
base::Result<std::string> contentHash(const ProfileSource& source, base::Progress& progress);

}  // namespace pipescope::model
