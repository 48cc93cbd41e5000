#pragma once
#include "profiler/base/executor.h"
#include "profiler/import/gaudi_csv.h"

namespace pipescope::importing {

/// Reads a trace in Chrome's JSON format. False if the text holds no list of events. The executor cuts the
/// text, parses the pieces, and sorts events that were parsed before, at the same time; the result does not
/// depend on it.
base::Result<bool> readChrome(ByteSource& bytes, TraceData& data, base::Executor& executor,
                              const ReadReport& report);

}  // namespace pipescope::importing
