#pragma once
// Profiles for other programs. Every format streams: memory does not grow with the profile.
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "profiler/analysis/catalog.h"
#include "profiler/base/progress.h"

namespace pipescope::analysis {

/// Takes text in order; an error (disk full) ends the export.
using Writer = std::function<base::Status(std::string_view)>;

struct ExportRequest {
  const model::ProfileSource& source;
  const Catalog& catalog;
  model::ExecutableId executable;
  bool steps = true;                     ///< steps of segments, not only placements
  std::optional<model::RunId> run = {};  ///< only this call
};

/// Trace Event Format of Chrome (JSON object form), which Perfetto opens: a process a device, a thread a
/// lane, complete events for placements and their steps, flow arrows for transfers, counters. Times are
/// microseconds. Steps are expanded: a run of 10⁹ steps makes a file of 100 GB, so more than
/// `kMostChromeEvents` are refused with a sentence. "Emulated" and the device model stand in otherData.
inline constexpr std::int64_t kMostChromeEvents = 50'000'000;
base::Status exportChrome(const ExportRequest& request, const Writer& write, base::Progress& progress);

/// One table of the profile with a header line, RFC 4180 quoting, in the order of recording.
base::Status exportCsv(const model::ProfileSource& source, const std::string& table, const Writer& write,
                       base::Progress& progress);

/// A picture of the last call: a row a device and lane, 1,600 pixels wide; the colours' meaning below it.
base::Status exportSvg(const std::shared_ptr<const model::ProfileSource>& source,
                       const std::shared_ptr<const Catalog>& catalog, model::ExecutableId executable,
                       const Writer& write, base::Progress& progress);

}  // namespace pipescope::analysis
