#include "profiler/import/trace_import.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>

#include "profiler/import/profile_rows.h"
#include "profiler/import/trace_files.h"
#include "profiler/import/trace_reader.h"

namespace pipescope::importing {
namespace {

/// Traces whose first events lie within a day of each other have clocks with the same zero.
constexpr Picoseconds kDay = Picoseconds{86'400} * 1'000'000'000'000;

using Traces = std::vector<std::unique_ptr<TraceData>>;

base::Result<Traces> readAll(const ImportRequest& request, base::Progress& progress) {
  Traces traces;
  const auto take = [&](const TraceFile& file) -> base::Status {
    PIPESCOPE_ASSIGN(auto trace, readTrace(file, request.temporaryFolder, progress));
    traces.push_back(std::move(trace));
    return {};
  };
  for (const auto& path : request.paths) PIPESCOPE_TRY(visitTraceFiles(path, take));
  return traces;
}

base::Status sortByRank(Traces& traces) {
  std::set<std::int64_t> ranks;
  for (const auto& trace : traces) {
    const auto rank = trace->rank();
    if (rank && !ranks.insert(*rank).second)
      return base::badInput(fmt::format("Two traces are of rank {}; the second is {}. Import one of them.",
                                        *rank, trace->name));
  }
  std::stable_sort(traces.begin(), traces.end(), [](const auto& a, const auto& b) {
    return a->rank().value_or(INT64_MAX) < b->rank().value_or(INT64_MAX);
  });
  return {};
}

/// The time of each trace's clock that becomes 0.
std::vector<std::int64_t> starts(const Traces& traces, bool& commonClock) {
  Picoseconds first = 0, last = 0;
  bool any = false;
  for (const auto& trace : traces) {
    if (trace->empty()) continue;
    const Picoseconds time = *trace->tables.origin + trace->firstTime;
    first = any ? std::min(first, time) : time;
    last = any ? std::max(last, time) : time;
    any = true;
  }
  commonClock = last - first <= kDay;
  std::vector<std::int64_t> result;
  for (const auto& trace : traces)
    result.push_back(trace->empty() || !commonClock
                         ? trace->firstTime
                         : static_cast<std::int64_t>(first - *trace->tables.origin));
  return result;
}

}  // namespace

base::Result<ImportSummary> importTraces(const ImportRequest& request, record::Recorder& recorder,
                                         base::Progress& progress) {
  PIPESCOPE_ASSIGN(Traces traces, readAll(request, progress));
  PIPESCOPE_TRY(sortByRank(traces));
  ImportSummary summary;
  for (const auto& trace : traces) summary.events += trace->events.size();
  if (summary.events == 0) return base::badInput("The traces hold no events, so there is nothing to import.");

  bool commonClock = true;
  const std::vector<std::int64_t> zero = starts(traces, commonClock);
  ProfileRows rows(recorder, *request.rules);
  const std::string source =
      traces.size() == 1 ? traces.front()->name : fmt::format("{} traces", traces.size());
  for (std::size_t i = 0; i < traces.size(); ++i) {
    TraceData& trace = *traces[i];
    progress.report(static_cast<double>(i) / static_cast<double>(traces.size()), "arranging " + trace.name);
    if (progress.cancelled()) return base::cancelled("The import was stopped.");
    const auto rank = trace.rank();
    summary.ranks += rank ? 1 : 0;
    const std::string prefix = traces.size() == 1 ? "" : rank ? fmt::format("rank {}", *rank) : trace.name;
    PIPESCOPE_TRY(rows.add(trace, prefix, zero[i]));
    for (const auto& [what, count] : trace.tables.findings.counts())
      summary.findings.push_back(count == 1 ? fmt::format("{}: {}", trace.name, what)
                                            : fmt::format("{}: {} ({} times)", trace.name, what, count));
    traces[i].reset();
  }
  if (!commonClock)
    summary.findings.push_back("The clocks of the traces have different zeros; each trace begins at 0 here.");
  for (const std::string& finding : summary.findings)
    recorder.add(model::Diagnostic{model::Severity::warning, "import", finding, {}, {}});
  rows.end(source);
  summary.files = static_cast<std::int64_t>(traces.size());
  summary.slices = rows.slices();
  PIPESCOPE_TRY(recorder.finish(model::ProfileState::complete));
  return summary;
}

}  // namespace pipescope::importing
