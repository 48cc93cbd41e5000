#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "profiler/base/progress.h"
#include "profiler/import/trace_reader.h"

namespace pipescope::importing {

/// True if the text begins with the heading of a CSV file that Gaudi's hardware profiler writes.
bool looksLikeGaudiCsv(std::string_view head);

/// What a reader reports while it reads.
struct ReadReport {
  std::string name;                  ///< of the file
  std::function<double()> fraction;  ///< that was read
  base::Progress& progress;
};

/// Reads the events of Gaudi's hardware profiler. Each engine is a thread of its device; an event is named
/// after its node and has the node's operation as category. An instant event is named after what the hardware
/// did. The columns are found by their headings. Damaged lines are counted in the findings.
base::Status readGaudiCsv(ByteSource& bytes, TraceData& data, const ReadReport& report);

}  // namespace pipescope::importing
