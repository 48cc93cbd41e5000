#pragma once
#include <string>

#include "profiler/base/progress.h"
#include "profiler/export/writer.h"
#include "profiler/model/source.h"

namespace pipescope::exporting {

/// Writes one table of the profile with a header line, in the order of recording and with the quotes of
/// RFC 4180. A number that stands for a name, such as a pass, has its name in the column after it. Streams
/// block by block.
base::Status exportCsv(const model::ProfileSource& source, const std::string& table, const Writer& write,
                       base::Progress& progress);

}  // namespace pipescope::exporting
