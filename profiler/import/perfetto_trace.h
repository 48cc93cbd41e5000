#pragma once
#include <string_view>

#include "profiler/import/gaudi_csv.h"
#include "profiler/import/trace_reader.h"

namespace pipescope::importing {

/// True if the text begins with a whole packet of Perfetto's protobuf format, or with the beginning of a long
/// one.
bool looksLikePerfetto(std::string_view head);

/// Reads the track events of a Perfetto trace: slices, instants, counters and flows, with interned names.
/// Each track is a thread of its process. Packets of other data sources are passed over.
base::Status readPerfetto(ByteSource& bytes, TraceData& data, const ReadReport& report);

}  // namespace pipescope::importing
