#pragma once
#include <string>

#include "profiler/base/progress.h"
#include "profiler/model/source.h"

namespace pipescope::model {

/// Returns 32 hexadecimal digits that are equal for runs with equal configuration and seed. The hash leaves
/// out everything that depends on the host or the time of the run: the wall columns of Run, the outcomes
/// host_…, the properties created_utc, command_line, run_folder and recorder_…, and notes. It
/// also leaves out LevelNode rows, which derive from other rows. Reads the whole profile block by block.
base::Result<std::string> contentHash(const ProfileSource& source, base::Progress& progress);

}  // namespace pipescope::model
