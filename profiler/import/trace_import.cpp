#include "profiler/import/trace_import.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>

#include "profiler/import/clock_alignment.h"
#include "profiler/import/collect_passes.h"
#include "profiler/import/profile_rows.h"
#include "profiler/import/trace_files.h"
#include "profiler/import/trace_reader.h"

namespace pipescope::importing {
namespace {

/// Times of a clock that counts from 1970 exceed it; other clocks count from the start of a process or
/// machine.
constexpr Picoseconds kThreeYears = Picoseconds{3 * 365 * 86'400} * 1'000'000'000'000;
/// Traces whose first events lie within a day of each other have clocks with the same zero.
constexpr Picoseconds kDay = Picoseconds{86'400} * 1'000'000'000'000;

/// Reading the traces is about so much of the work; the rest is arranging what they hold.
constexpr double kReadingShare = 0.7;

/// Memory that each trace may keep while the next one is read.
constexpr std::size_t kHeldOfOthers = 1 << 20;

using Traces = std::vector<std::unique_ptr<TraceData>>;

base::Result<Traces> readAll(const ImportRequest& request, base::Progress& progress) {
  Traces traces;
  std::set<std::int64_t> found;
  base::SerialExecutor serial;
  base::Executor& executor = request.executor != nullptr ? *request.executor : serial;
  std::size_t path = 0;  // the one that is being read
  const auto take = [&](const TraceFile& read) -> base::Status {
    const TraceFile file{read.name, read.path, read.bytes, [&] {
                           return kReadingShare * (static_cast<double>(path) + read.fraction()) /
                                  static_cast<double>(request.paths.size());
                         }};
    if (!traces.empty()) PIPESCOPE_TRY(traces.back()->events.holdAtMost(kHeldOfOthers));
    PIPESCOPE_ASSIGN(auto trace, readTrace(file, request.temporaryFolder, executor, progress));
    const auto rank = trace->rank();
    if (rank) found.insert(*rank);
    if (request.ranks.empty() || (rank && request.ranks.contains(*rank))) traces.push_back(std::move(trace));
    return {};
  };
  for (; path < request.paths.size(); ++path) PIPESCOPE_TRY(visitTraceFiles(request.paths[path], take));
  for (const std::int64_t rank : request.ranks)
    if (!found.contains(rank))
      return base::badInput(
          found.empty() ? std::string("The traces state no ranks, so --ranks cannot choose among them.")
                        : fmt::format("No trace is of rank {}; the traces are of ranks {}.", rank,
                                      fmt::join(found, ", ")));
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

/// The time of each trace that becomes 0, relative to its origin, and a sentence about the clocks if the user
/// must know.
struct Clocks {
  std::vector<std::int64_t> zero;
  std::string finding;
};

Clocks firstEvents(const Traces& traces) {
  Clocks clocks;
  for (const auto& trace : traces) clocks.zero.push_back(trace->empty() ? 0 : trace->firstTime);
  return clocks;
}

/// True if the traces state times since 1970: times before 1973 count from the start of a process or machine.
bool stateDates(const Traces& traces) {
  return std::all_of(traces.begin(), traces.end(), [](const auto& trace) {
    return trace->empty() || *trace->tables.origin + trace->firstTime > kThreeYears;
  });
}

/// Nothing if the clocks are farther apart than a day.
std::optional<Clocks> absoluteTimes(const Traces& traces) {
  Picoseconds first = 0, last = 0;
  bool any = false;
  for (const auto& trace : traces) {
    if (trace->empty()) continue;
    const Picoseconds time = *trace->tables.origin + trace->firstTime;
    first = any ? std::min(first, time) : time;
    last = any ? std::max(last, time) : time;
    any = true;
  }
  if (last - first > kDay) return std::nullopt;
  Clocks clocks;
  for (const auto& trace : traces)
    clocks.zero.push_back(trace->empty() ? 0 : static_cast<std::int64_t>(first - *trace->tables.origin));
  return clocks;
}

/// The sentence says how well the passes fit together. Offsets are none if the traces share no passes.
base::Result<std::optional<Clocks>> alignedTimes(const Traces& traces, const Rules& rules) {
  std::vector<std::vector<RecordedPass>> passes;
  for (const auto& trace : traces) {
    PIPESCOPE_ASSIGN(passes.emplace_back(), collectPasses(*trace, rules));
    // From its first event on, so that differences of the clocks stay small numbers.
    for (RecordedPass& pass : passes.back()) {
      pass.start = pass.start - base::Ticks(trace->firstTime);
      pass.end = pass.end - base::Ticks(trace->firstTime);
    }
  }
  const ClockAlignment alignment = alignClocks(passes);
  if (!alignment.complete) return std::optional<Clocks>();
  const std::int64_t earliest = *std::min_element(alignment.offsets.begin(), alignment.offsets.end());
  Clocks clocks;
  for (std::size_t i = 0; i < traces.size(); ++i)
    clocks.zero.push_back(traces[i]->firstTime - (alignment.offsets[i] - earliest));
  clocks.finding = fmt::format(
      "The clocks of the traces were aligned by {} passes whose input comes from another trace; the "
      "remaining "
      "uncertainty is {:.1f} µs.",
      alignment.pairs, static_cast<double>(alignment.uncertainty) * 1e-6);
  if (alignment.contradictions > 0)
    clocks.finding +=
        fmt::format(" {} of them still begin before their input was made.", alignment.contradictions);
  return std::optional(clocks);
}

base::Result<Clocks> clocksOf(const Traces& traces, const ImportRequest& request) {
  const bool automatic = request.clock == ClockChoice::automatic;
  if (traces.size() == 1 || request.clock == ClockChoice::firstEvent) return firstEvents(traces);
  const auto absolute = absoluteTimes(traces);
  if (request.clock == ClockChoice::absolute && !absolute)
    return base::badInput(
        "The clocks of the traces are more than a day apart, so they have different zeros: use --clock align "
        "or "
        "--clock first-event.");
  if (absolute && (request.clock == ClockChoice::absolute || (automatic && stateDates(traces))))
    return *absolute;
  PIPESCOPE_ASSIGN(const std::optional<Clocks> aligned, alignedTimes(traces, *request.rules));
  if (aligned) return *aligned;
  if (!automatic)
    return base::badInput(
        "The clocks of the traces cannot be aligned, because no passes of neighbouring stages were "
        "recognised in all "
        "traces: name them with --rules, or use --clock first-event.");
  Clocks clocks = firstEvents(traces);
  clocks.finding = "The clocks of the traces may have different zeros, so each trace begins at 0 here.";
  return clocks;
}

}  // namespace

base::Result<ImportSummary> importTraces(const ImportRequest& request, record::Recorder& recorder,
                                         base::Progress& progress) {
  PIPESCOPE_ASSIGN(Traces traces, readAll(request, progress));
  PIPESCOPE_TRY(sortByRank(traces));
  ImportSummary summary;
  for (const auto& trace : traces) summary.events += trace->events.size();
  if (summary.events == 0) return base::badInput("The traces hold no events, so there is nothing to import.");

  PIPESCOPE_ASSIGN(const Clocks clocks, clocksOf(traces, request));
  const Picoseconds zero = traces.front()->tables.origin.value_or(0) + clocks.zero.front();
  ProfileRows rows(recorder, *request.rules);
  const std::string source =
      traces.size() == 1 ? traces.front()->name : fmt::format("{} traces", traces.size());
  for (std::size_t i = 0; i < traces.size(); ++i) {
    TraceData& trace = *traces[i];
    const double arranged = static_cast<double>(i) / static_cast<double>(traces.size());
    progress.report(kReadingShare + (1 - kReadingShare) * arranged, "arranging " + trace.name);
    if (progress.cancelled()) return base::cancelled("The import was stopped.");
    const auto rank = trace.rank();
    summary.ranks += rank ? 1 : 0;
    const std::string prefix = traces.size() == 1 ? "" : rank ? fmt::format("rank {}", *rank) : trace.name;
    PIPESCOPE_TRY(rows.add(trace, prefix, clocks.zero[i]));
    for (const auto& [what, count] : trace.tables.findings.counts())
      summary.findings.push_back(count == 1 ? fmt::format("{}: {}", trace.name, what)
                                            : fmt::format("{}: {} ({} times)", trace.name, what, count));
    traces[i].reset();
  }
  if (!clocks.finding.empty()) summary.findings.push_back(clocks.finding);
  for (const std::string& finding : summary.findings)
    recorder.add(model::Diagnostic{model::Severity::warning, "import", finding, {}, {}});
  rows.end(source, zero);
  summary.files = static_cast<std::int64_t>(traces.size());
  summary.slices = rows.slices();
  PIPESCOPE_TRY(recorder.finish(model::ProfileState::complete));
  return summary;
}

}  // namespace pipescope::importing
