// The section on what the host did: its threads, what they did under which name, and how long that took.
#include <algorithm>

#include "profiler/analysis/host/host_statistics.h"
#include "profiler/sections/host_tables.h"

namespace pipescope::sections {
namespace {

using analysis::HostTimeline;
using base::Ticks;

Cell hostShare(Ticks part, Ticks whole) {
  if (whole.count <= 0) return {};
  return static_cast<double>(part.count) / static_cast<double>(whole.count);
}

/// The time within calls. Calls of one program follow each other, but those of several may overlap.
Ticks timeInCalls(const HostTimeline& timeline) {
  Ticks inside, covered;
  for (const analysis::HostCall& call : timeline.calls) {
    if (call.end <= covered) continue;
    inside += call.end - std::max(covered, call.start);
    covered = call.end;
  }
  return inside;
}

std::vector<Fact> hostFacts(const HostTimeline& timeline) {
  const auto known = [&](const Cell& cell) { return timeline.empty() ? Cell() : cell; };
  const Ticks calls = timeInCalls(timeline);
  std::string longest;
  for (const analysis::HostNameUse& use : analysis::hostNameUses(timeline)) {
    const analysis::HostLabel& label = timeline.names[static_cast<std::size_t>(use.name)];
    if (label.channel == analysis::kWaitingChannel) continue;
    longest = label.name;
    break;
  }
  return {
      {"recorded_seconds", "Recorded time", known(hostSeconds(timeline.end)), Format::seconds,
       "Wall time from the first recorded moment of the host to the last."},
      {"calls_count", "Calls that computed", known(static_cast<std::int64_t>(timeline.calls.size())),
       Format::count, "Calls of all executables whose numbers the host computed."},
      {"calls_seconds", "Time in calls", known(hostSeconds(calls)), Format::seconds,
       "Wall time in which the host computed a call."},
      {"calls_share", "Share of the recorded time", known(hostShare(calls, timeline.end)), Format::fraction,
       "Time in calls ÷ recorded time."},
      {"threads_count", "Threads", known(static_cast<std::int64_t>(timeline.lanes.size())), Format::count,
       "Threads that recorded something."},
      {"spans_count", "Spans", known(static_cast<std::int64_t>(timeline.spanCount())), Format::count,
       "Spans of all threads."},
      {"events_count", "Events", known(static_cast<std::int64_t>(timeline.eventCount())), Format::count,
       "Moments without a length, of all threads."},
      {"longest_name", "Most time of its own", longest.empty() ? Cell() : Cell(longest), Format::plain,
       "The name whose spans have the largest sum of own times: without the spans in them. Waiting does not "
       "count."}};
}

SectionTable threadTable(const HostTimeline& timeline) {
  SectionTable table{"threads", "Threads", "whole recording", {}, {}};
  table.columns = {
      {"thread", "Thread", Format::plain, ""},
      {"process", "Process", Format::plain, "of a run of several instances: which of them", false},
      {"spans", "Spans", Format::count, ""},
      {"events", "Events", Format::count, ""},
      {"busy_seconds", "Busy", Format::seconds, "time within any span, waiting included"},
      {"busy_share", "Share", Format::fraction, "busy ÷ recorded time"}};
  for (const analysis::HostLane& lane : timeline.lanes)
    table.rows.push_back({lane.title(), lane.process, static_cast<std::int64_t>(lane.spans.size()),
                          static_cast<std::int64_t>(lane.events.size()), hostSeconds(lane.busy),
                          hostShare(lane.busy, timeline.end)});
  return table;
}

SectionTable histogramTable(const HostTimeline& timeline, const std::vector<analysis::HostNameUse>& uses) {
  SectionTable table{
      "histogram", "Lengths by name", "spans of all threads; classes without spans are left out", {}, {}};
  table.columns = {{"channel", "Channel", Format::plain, ""},
                   {"name", "Name", Format::plain, ""},
                   {"from_seconds", "From", Format::seconds, "shortest length of the class"},
                   {"to_seconds", "To below", Format::seconds, "the class ends below this length"},
                   {"count", "Spans", Format::count, ""}};
  for (const analysis::HostNameUse& use : uses) {
    const analysis::HostLabel& label = timeline.names[static_cast<std::size_t>(use.name)];
    for (std::size_t bin = 0; bin < analysis::HostHistogram::kBins; ++bin) {
      if (use.histogram.counts[bin] == 0) continue;
      const bool isLast = bin + 1 == analysis::HostHistogram::kBins;
      table.rows.push_back({label.channel, label.name, hostSeconds(analysis::HostHistogram::lowerEdge(bin)),
                            isLast ? Cell() : Cell(hostSeconds(analysis::HostHistogram::lowerEdge(bin + 1))),
                            use.histogram.counts[bin]});
    }
  }
  table.mostInText = 30;
  return table;
}

base::Result<Section> makeHost(const Context& context) {
  base::SilentProgress progress;
  PIPESCOPE_ASSIGN(const auto timeline, analysis::hostTimeline(context.source, progress));
  const std::vector<analysis::HostNameUse> uses = analysis::hostNameUses(*timeline);
  Section section{"host", "Host", hostFacts(*timeline), {}, {}};
  section.tables = {
      threadTable(*timeline), hostNameTable(*timeline, uses, "spans of all threads"),
      hostTreeTable(*timeline, analysis::hostCallTree(*timeline), "spans by the spans around them"),
      histogramTable(*timeline, uses), hostSeriesTable(*timeline)};
  if (timeline->empty()) {
    lack(section, context.catalog.measured() ? "This profile was made from a trace of another tool, so "
                                               "nothing is known of what Pipescope's host did."
                                             : "The profile does not tell what the host did: it was recorded "
                                               "with --record off, made by a what-if, or written by an older "
                                               "Pipescope.");
    return section;
  }
  section.remarks.push_back(
      "These are wall times of the host that computed and emulated. They differ from run to run and say "
      "nothing about the emulated devices.");
  return section;
}

}  // namespace

PIPESCOPE_REGISTER_SECTION(host) {
  registry.add({"host", "Host", "What the host did in wall time: threads, names, call tree, lengths, series",
                95, makeHost, false, true});
}

}  // namespace pipescope::sections
