#include "profiler/import/trace_import.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "profiler/import/align/clock_alignment.h"
#include "profiler/import/read/source/trace_files.h"
#include "profiler/import/read/trace_reader.h"
#include "profiler/import/recognise/infer_events.h"
#include "profiler/import/recognise/progress_part.h"
#include "profiler/import/recognise/recogniser.h"
#include "profiler/import/write/profile_rows.h"

namespace pipescope::importing {
namespace {

/// Times of a clock that counts from 1970 exceed it; other clocks count from the start of a process or
/// machine.
constexpr Picoseconds kThreeYears = Picoseconds{3 * 365 * 86'400} * 1'000'000'000'000;
/// Traces whose first events lie within a day of each other have clocks with the same zero.
constexpr Picoseconds kDay = Picoseconds{86'400} * 1'000'000'000'000;

/// Memory that each trace may keep while the next one is read.
constexpr std::size_t kHeldOfOthers = 1 << 20;

/// Reading takes about half of the time.
constexpr double kReadingShare = 0.5;
/// Several traces are put on one clock, for which their passes must be recognised first.
constexpr double kRecognisingShare = 0.2;

using Traces = std::vector<std::unique_ptr<TraceData>>;

struct ReadTraces {
  Traces traces;
  std::vector<std::string> others;   ///< names of files that are no traces
  std::string advice;                ///< remedy for the first of them; empty: not known
  std::vector<std::string> damages;  ///< sentences on archives of which a part is missing
};

base::Status refuseOthers(const ReadTraces& read) {
  if (!read.advice.empty()) return base::badInput(fmt::format("{} {}.", read.others.front(), read.advice));
  return base::badInput(
      fmt::format("{} is no trace that can be imported: give {}.", read.others.front(), formatNames()));
}

/// Folders and archives of traces may hold other files as well.
std::string findingOf(const std::vector<std::string>& others) {
  if (others.size() == 1) return fmt::format("{} is no trace and is left out.", others.front());
  return fmt::format("{} and {} other {} no traces and are left out.", others.front(), others.size() - 1,
                     others.size() == 2 ? "file are" : "files are");
}

base::Result<ReadTraces> readAll(const ImportRequest& request, base::Progress& progress) {
  ReadTraces result;
  Traces& traces = result.traces;
  std::set<std::int64_t> found;
  base::SerialExecutor serial;
  base::Executor& executor = request.executor != nullptr ? *request.executor : serial;
  std::optional<ProgressPart> part;
  Traces aside;  // files that say something about others
  std::map<const TraceFormat*, std::vector<TraceData*>> together;
  const auto take = [&](const TraceFile& file) -> base::Status {
    if (!traces.empty()) PIPESCOPE_TRY(traces.back()->events.holdAtMost(kHeldOfOthers));
    PIPESCOPE_ASSIGN(ReadTrace read, readTrace(file, request.temporaryFolder, request.rules->ownArguments(),
                                               executor, *part));
    std::unique_ptr<TraceData>& trace = read.data;
    if (trace == nullptr) {
      if (result.others.empty()) result.advice = std::move(read.advice);
      result.others.push_back(file.name);
      // A file that the user names himself must be a trace.
      const bool named =
          file.path == file.name && std::ranges::find(request.paths, file.path) != request.paths.end();
      return named ? refuseOthers(result) : base::Status();
    }
    const auto rank = trace->rank();
    if (rank && !trace->accompanies) found.insert(*rank);
    if (read.format->join != nullptr) together[read.format].push_back(trace.get());
    const bool wanted = request.ranks.empty() || (rank && request.ranks.contains(*rank));
    if (wanted && !trace->accompanies) {
      traces.push_back(std::move(trace));
    } else if (read.format->join != nullptr) {
      aside.push_back(std::move(trace));
    }
    return {};
  };
  std::vector<std::filesystem::path> files;
  std::vector<double> sizes;  // bytes of all files up to and with each one
  for (const auto& path : request.paths) {
    PIPESCOPE_ASSIGN(const std::vector<std::filesystem::path> own, traceFilesOf(path));
    for (const auto& file : own) {
      std::error_code unknown;
      const auto size = std::filesystem::file_size(file, unknown);
      files.push_back(file);
      sizes.push_back((sizes.empty() ? 1 : sizes.back()) + (unknown ? 0 : static_cast<double>(size)));
    }
  }
  for (std::size_t i = 0; i < files.size(); ++i) {
    part.emplace(progress, kReadingShare * (i == 0 ? 0 : sizes[i - 1]) / sizes.back(),
                 kReadingShare * sizes[i] / sizes.back());
    PIPESCOPE_TRY(visitTraceFiles(files[i], take, result.damages, progress));
  }
  for (const auto& [format, parts] : together) PIPESCOPE_TRY(format->join(parts));
  if (traces.empty() && found.empty() && !result.damages.empty())
    return base::badInput(result.damages.front());
  if (traces.empty() && found.empty() && !result.others.empty()) return refuseOthers(result).error();
  for (const std::int64_t rank : request.ranks)
    if (!found.contains(rank))
      return base::badInput(
          found.empty() ? std::string("The traces state no ranks, so --ranks cannot choose among them.")
                        : fmt::format("No trace is of rank {}; the traces are of ranks {}.", rank,
                                      fmt::join(found, ", ")));
  return result;
}

/// Refuses traces without events, and says why their events were left out, if they had some.
base::Error refuseEmpty(const Traces& traces) {
  for (const auto& trace : traces)
    for (const auto& [what, count] : trace->tables.findings.counts())
      return base::badInput(fmt::format("No event of {} can be imported: {}{}", trace->name, what,
                                        count == 1 ? "" : fmt::format(" ({} times)", count)));
  return base::badInput(fmt::format(
      "The traces hold no events in a form that is known, so there is nothing to import: give {}.",
      formatNames()));
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

/// The clock of each trace, and a sentence about the clocks if the user must know.
struct Clocks {
  std::vector<TraceClock> clocks;
  std::string finding;
};

Clocks firstEvents(const Traces& traces) {
  Clocks clocks;
  for (const auto& trace : traces) clocks.clocks.push_back({trace->empty() ? 0 : trace->firstTime, 0});
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
    clocks.clocks.push_back(
        {trace->empty() ? 0 : static_cast<std::int64_t>(first - *trace->tables.origin), 0});
  return clocks;
}

using Recognisers = std::vector<std::unique_ptr<Recogniser>>;

/// Recognises each trace, which `recognisers` keep for the rows. Returns what relates their clocks, in each
/// trace's own clock from its first event on, so that differences of the clocks stay small numbers.
base::Result<std::vector<RecordedEvents>> eventsOf(const Traces& traces, const Rules& rules,
                                                   const Recognisers& recognisers, base::Progress& progress) {
  constexpr std::int64_t kMostDevices = std::int64_t{1} << 32;
  RecordedEvents all;  // stages are inferred over all traces
  for (std::size_t t = 0; t < traces.size(); ++t) {
    const double share = kRecognisingShare / static_cast<double>(traces.size());
    ProgressPart part(progress, kReadingShare + share * static_cast<double>(t),
                      kReadingShare + share * static_cast<double>(t + 1));
    Recogniser& recogniser = *recognisers[t];
    PIPESCOPE_TRY(recognise(*traces[t], rules, recogniser, part));
    RecordedEvents events = recogniser.events();
    std::erase_if(events.passes, [](const auto& pass) { return pass.pass == model::Pass::collective; });
    for (const RecordedPass& collective : recogniser.collectives()) events.passes.push_back(collective);
    const base::Ticks first(traces[t]->firstTime);
    all.append(std::move(events), [&](auto& one) {
      one.device = model::DeviceId(static_cast<std::int64_t>(t) * kMostDevices + one.device.value);
      one.start -= first;
      one.end -= first;
    });
  }
  inferEvents(all);
  std::vector<RecordedEvents> divided(traces.size());
  const auto divide = [&](std::vector<RecordedPass>& from, auto list) {
    for (RecordedPass& pass : from)
      (divided[static_cast<std::size_t>(pass.device.value / kMostDevices)].*list).push_back(std::move(pass));
  };
  divide(all.passes, &RecordedEvents::passes);
  divide(all.sends, &RecordedEvents::sends);
  divide(all.receives, &RecordedEvents::receives);
  return divided;
}

/// The clocks after alignment, with a sentence that says how well the traces fit together. Each group of
/// traces begins at 0.
Clocks alignedClocks(const Traces& traces, const ClockAlignment& alignment) {
  std::vector<std::int64_t> earliest(alignment.groupCount(), INT64_MAX);
  for (std::size_t i = 0; i < traces.size(); ++i)
    earliest[alignment.groups[i]] = std::min(earliest[alignment.groups[i]], alignment.offsets[i]);
  Clocks clocks;
  double drift = 0;
  for (std::size_t i = 0; i < traces.size(); ++i) {
    clocks.clocks.push_back({traces[i]->firstTime - (alignment.offsets[i] - earliest[alignment.groups[i]]),
                             alignment.drifts[i], alignment.groups[i]});
    drift = std::max(drift, std::abs(alignment.drifts[i]));
  }
  clocks.finding = fmt::format(
      "The clocks of the traces were aligned by {} passes, messages and collectives that several traces "
      "share; the remaining uncertainty is {:.1f} µs.",
      alignment.pairs, static_cast<double>(alignment.uncertainty) * 1e-6);
  if (earliest.size() > 1)
    clocks.finding += fmt::format(
        " The traces form {} groups that have nothing in common, and may have different zeros: each group "
        "begins at 0 here.",
        earliest.size());
  if (drift > 0)
    clocks.finding += fmt::format(
        " They drift by up to {:.1f} µs in a second against the first one, which is corrected.", drift * 1e6);
  if (alignment.contradictions > 0)
    clocks.finding +=
        fmt::format(" In {} cases something still arrives before it was sent.", alignment.contradictions);
  return clocks;
}

/// Moves each group of traces to the dates that it states, by the median of its traces' differences: what has
/// nothing in common with other traces cannot be aligned with them, such as the pipelines of two replicas.
/// `dates`: when each trace begins, as it states.
void keepDatesOfGroups(const std::vector<std::int64_t>& dates, ClockAlignment& alignment) {
  const std::size_t groups = alignment.groupCount();
  for (std::size_t group = 0; group < groups; ++group) {
    std::vector<std::int64_t> differences;
    for (std::size_t i = 0; i < dates.size(); ++i)
      if (alignment.groups[i] == group) differences.push_back(dates[i] - alignment.offsets[i]);
    const auto middle = differences.begin() + static_cast<std::ptrdiff_t>(differences.size() / 2);
    std::nth_element(differences.begin(), middle, differences.end());
    for (std::size_t i = 0; i < dates.size(); ++i)
      if (alignment.groups[i] == group) alignment.offsets[i] += *middle;
  }
  alignment.groups.assign(dates.size(), 0);
}

/// The traces' own dates; or aligned clocks, if by these dates messages would arrive before they are sent, or
/// collectives would be over on one rank before they begin on another.
base::Result<Clocks> datedClocks(const Traces& traces, const Rules& rules, const Recognisers& recognisers,
                                 Clocks absolute, base::Progress& progress) {
  PIPESCOPE_ASSIGN(const std::vector<RecordedEvents> events, eventsOf(traces, rules, recognisers, progress));
  std::vector<std::int64_t> offsets;
  for (std::size_t i = 0; i < traces.size(); ++i)
    offsets.push_back(traces[i]->empty() ? 0 : traces[i]->firstTime - absolute.clocks[i].zero);
  const std::int64_t contradictions = contradictionsOf(events, offsets);
  if (contradictions == 0) {
    if (!collectivesAreApart(events, offsets)) return absolute;
    const ClockAlignment alignment = alignClocks(events);
    if (alignment.groupCount() > 1 ||
        alignment.contradictions >= contradictionsOf(events, offsets, ClockFacts::all))
      return absolute;
    Clocks aligned = alignedClocks(traces, alignment);
    aligned.finding = fmt::format(
        "By the dates that the traces state, collectives would be over on one rank before they begin on "
        "another. {}",
        aligned.finding);
    return aligned;
  }
  ClockAlignment alignment = alignClocks(events, ClockFacts::messages);
  if (alignment.groupCount() > 1) {
    // Messages join the ranks of one pipeline, and collectives may join the pipelines of several replicas.
    ClockAlignment joined = alignClocks(events);
    if (joined.groupCount() < alignment.groupCount() && joined.contradictions <= alignment.contradictions)
      alignment = std::move(joined);
  }
  const std::size_t groups = alignment.groupCount();
  const std::vector<std::size_t> groupOf = alignment.groups;
  if (groups > 1) keepDatesOfGroups(offsets, alignment);
  if (alignment.contradictions >= contradictions) {
    absolute.finding = fmt::format(
        "By the dates that the traces state, {} passes or messages arrive before they were sent, and the "
        "clocks "
        "could not be aligned any better.",
        contradictions);
    return absolute;
  }
  Clocks aligned = alignedClocks(traces, alignment);
  for (std::size_t i = 0; i < traces.size(); ++i) aligned.clocks[i].group = groupOf[i];
  aligned.finding = fmt::format(
      "By the dates that the traces state, {} passes or messages would arrive before they were sent. {}",
      contradictions, aligned.finding);
  if (groups > 1)
    aligned.finding += fmt::format(
        " The traces form {} groups that have nothing in common. Each group keeps the dates that its traces "
        "state on average.",
        groups);
  return aligned;
}

base::Result<Clocks> clocksOf(const Traces& traces, const Recognisers& recognisers,
                              const ImportRequest& request, base::Progress& progress) {
  const bool automatic = request.clock == ClockChoice::automatic;
  if (traces.size() == 1 || request.clock == ClockChoice::firstEvent) return firstEvents(traces);
  const auto absolute = absoluteTimes(traces);
  const bool shared = std::ranges::all_of(traces, [](const auto& trace) { return trace->sharesClock; });
  if (absolute && automatic && shared) return *absolute;
  if (request.clock == ClockChoice::absolute && !absolute)
    return base::badInput(
        "The clocks of the traces are more than a day apart, so they have different zeros: use --clock align "
        "or --clock first-event.");
  if (absolute && request.clock == ClockChoice::absolute) return *absolute;
  if (absolute && automatic && stateDates(traces))
    return datedClocks(traces, *request.rules, recognisers, *absolute, progress);
  PIPESCOPE_ASSIGN(const std::vector<RecordedEvents> events,
                   eventsOf(traces, *request.rules, recognisers, progress));
  ClockAlignment alignment = alignClocks(events);
  if (alignment.groupCount() > 1) {
    // Wrong guesses relate clocks that have nothing in common, and usually contradict each other.
    ClockAlignment guess = alignClocks(events, ClockFacts::guessed);
    if (guess.groupCount() < alignment.groupCount() && guess.contradictions == 0)
      alignment = std::move(guess);
  }
  if (alignment.groupCount() == 1 || (automatic && alignment.pairs > 0))
    return alignedClocks(traces, alignment);
  if (!automatic)
    return base::badInput(
        "The clocks of the traces cannot be aligned, because no passes of neighbouring stages, messages or "
        "collectives were recognised in all traces: name them with --rules, or use --clock first-event.");
  Clocks clocks = firstEvents(traces);
  for (std::size_t i = 0; i < traces.size(); ++i) clocks.clocks[i].group = i;
  clocks.finding = "The clocks of the traces may have different zeros, so each trace begins at 0 here.";
  return clocks;
}

}  // namespace

base::Result<ImportSummary> importTraces(const ImportRequest& request, record::Recorder& recorder,
                                         base::Progress& progress) {
  PIPESCOPE_ASSIGN(ReadTraces read, readAll(request, progress));
  Traces& traces = read.traces;
  PIPESCOPE_TRY(sortByRank(traces));
  ImportSummary summary;
  if (!read.others.empty()) summary.findings.push_back(findingOf(read.others));
  for (const std::string& damage : read.damages)
    summary.findings.push_back(damage + " What is whole of it is imported.");
  for (const auto& trace : traces) summary.events += trace->events.size();
  if (summary.events == 0) return refuseEmpty(traces);

  Recognisers recognisers;
  for (const auto& trace : traces)
    recognisers.push_back(std::make_unique<Recogniser>(*trace, *request.rules));
  PIPESCOPE_ASSIGN(const Clocks clocks, clocksOf(traces, recognisers, request, progress));
  const Picoseconds zero = traces.front()->tables.origin.value_or(0) + clocks.clocks.front().zero;
  ProfileRows rows(recorder, *request.rules);
  const std::string source =
      traces.size() == 1 ? traces.front()->name : fmt::format("{} traces", traces.size());
  for (std::size_t i = 0; i < traces.size(); ++i) {
    TraceData& trace = *traces[i];
    const double before = kReadingShare + (traces.size() > 1 ? kRecognisingShare : 0);
    const double share = (1 - before) / static_cast<double>(traces.size());
    ProgressPart part(progress, before + share * static_cast<double>(i),
                      before + share * static_cast<double>(i + 1));
    const auto rank = trace.rank();
    summary.ranks += rank ? 1 : 0;
    const std::string prefix = traces.size() == 1 ? "" : rank ? fmt::format("rank {}", *rank) : trace.name;
    PIPESCOPE_TRY(rows.add(trace, *recognisers[i], prefix, clocks.clocks[i], request.executor, part));
    for (const auto& [what, count] : trace.tables.findings.counts())
      summary.findings.push_back(count == 1 ? fmt::format("{}: {}", trace.name, what)
                                            : fmt::format("{}: {} ({} times)", trace.name, what, count));
    recognisers[i].reset();
    traces[i].reset();
  }
  if (!clocks.finding.empty()) summary.findings.push_back(clocks.finding);
  for (const std::string& finding : summary.findings)
    recorder.add(model::Diagnostic{model::Severity::warning, "import", finding, {}, {}});
  PIPESCOPE_TRY(rows.end(source, zero));
  summary.files = static_cast<std::int64_t>(traces.size());
  summary.slices = rows.slices();
  PIPESCOPE_TRY(recorder.finish(model::ProfileState::complete));
  progress.report(1, "imported");
  return summary;
}

}  // namespace pipescope::importing
