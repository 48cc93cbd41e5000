#pragma once
#include <cstdint>
#include <optional>

#include "profiler/analysis/catalog.h"
#include "profiler/base/progress.h"
#include "profiler/export/writer.h"

namespace pipescope::exporting {

struct ChromeRequest {
  const model::ProfileSource& source;
  const analysis::Catalog& catalog;
  model::ExecutableId executable;
  bool steps = true;                     ///< the steps of segments, not only placements
  std::optional<model::RunId> run = {};  ///< only this call
};

/// A trace with more events is refused with a sentence, because a run of 10⁹ steps would make a file of 100
/// GB.
inline constexpr std::int64_t kMostChromeEvents = 50'000'000;

/// Writes the Trace Event Format of Chrome (JSON object form), which Perfetto opens. A device is a process
/// and a lane is a thread. Placements, their steps and waits are complete events; transfers are flow arrows.
/// Passes state their FLOP and the bytes of their operands; steps also their operator and block (EventWork).
/// Steps of a recorded run keep their categories and the numbers of their launches; the threads of a host
/// with an accelerator are a process of their own. Spans of the host's threads are complete events, too,
/// aligned with the calls (analysis::HostAlignment). Times are in microseconds. otherData says that times are
/// emulated and names the device model. Streams: memory does not grow with the number of placements.
base::Status exportChrome(const ChromeRequest& request, const Writer& write, base::Progress& progress);

}  // namespace pipescope::exporting
