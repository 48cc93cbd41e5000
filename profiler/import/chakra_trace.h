#pragma once
#include <string_view>

#include "profiler/import/gaudi_csv.h"
#include "profiler/import/trace_reader.h"

namespace pipescope::importing {

/// True if the text begins with the metadata and the first node of a Chakra execution trace.
bool looksLikeChakra(std::string_view head);

/// Reads the nodes of an MLCommons Chakra execution trace. A node is an event of the thread, or of the stream
/// of an accelerator, that it names; its category is its type. Nodes without a start time start when what
/// they depend on has ended.
base::Status readChakra(ByteSource& bytes, TraceData& data, const ReadReport& report);

}  // namespace pipescope::importing
