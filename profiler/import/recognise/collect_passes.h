#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/import/read/trace_data.h"
#include "profiler/import/recognise/recorded_pass.h"
#include "profiler/import/recognise/rules.h"

namespace pipescope::importing {

/// True if the event is a pass of a stage, or a weight update, of which RecordedPasses writes the rows.
bool isPass(const Meaning& meaning);

/// Where rules know engines of accelerators, such as the queues of converted traces, ranges of a host are
/// times of launches. Takes the slices of a trace, and leaves the passes of hosts out.
class EngineWork {
 public:
  void add(const Meaning& meaning, model::DeviceId device) {
    if (meaning.engine && meaning.kind == model::StepKind::compute) devices_.insert(device);
  }
  /// Erases the computations, from the given one on, that no device with an engine makes. Returns their
  /// number.
  std::int64_t leaveOutHosts(std::vector<RecordedPass>& passes, std::size_t first) const;

 private:
  std::set<model::DeviceId> devices_;
};

/// Recognises the passes among the events of a trace. Events must come thread by thread, in the order of
/// time.
class PassFilter {
 public:
  explicit PassFilter(const TraceData& trace);

  /// False if the event lies within another pass of its thread, if it only launches work of an accelerator,
  /// or if it repeats a pass on a queue that only communicates.
  bool takes(const Meaning& meaning, const TraceEvent& event, std::int64_t end);
  /// True for a message that the event's device sends or receives itself.
  bool takesMessage(const Meaning& meaning, const TraceEvent& event) const;
  /// What kind of step the event is; none: no rule says it. Work of an accelerator that names its collective
  /// communicates, whatever its library is called.
  std::optional<model::StepKind> kindOf(const Meaning& meaning, const TraceEvent& event) const;
  /// True if the trace holds work of an accelerator.
  bool accelerated() const { return accelerated_; }
  /// How many passes are left out because a host only launches them, and the trace does not tell what.
  std::int64_t launchesOnly() const { return launchesOnly_; }
  /// The pass that an event is, or the pass of the message that it is a side of.
  RecordedPass row(const Meaning& meaning, const TraceEvent& event, model::DeviceId device,
                   model::LaneId lane, base::Ticks from, base::Ticks to) const;
  /// The process group that a collective states; empty: none.
  std::string processGroupOf(const TraceEvent& event) const;
  /// What a kernel of a collective has in common with those of its other ranks: the process group and the
  /// operation that it states; empty: it is none, or states no group.
  std::string kernelGroupOf(const Meaning& meaning, const TraceEvent& event) const;
  /// A pass, or one side of a message.
  struct Row {
    RecordedPass row;
    bool sends = false;
  };
  /// `first`, and rows for what else the event is, if it is of the same kind: passes, or sides of messages.
  std::vector<Row> rowsOf(const Meaning& meaning, RecordedPass first) const;

 private:
  bool launches(const TraceEvent& event);
  base::Bytes bytesOf(const TraceEvent& event) const;
  static void setMeaning(const Meaning& meaning, RecordedPass& pass);
  std::int64_t peerOf(const TraceEvent& event, Argument side) const;

  const TraceData& trace_;
  const std::int64_t rank_;                                        // of the file; −1: not stated
  const std::map<std::string, std::vector<std::int64_t>> groups_;  // ranks of process groups, by name
  bool accelerated_ = false;
  std::int64_t launchesOnly_ = 0;
  std::map<ThreadId, std::int64_t> passEnd_;  // of the last pass of each thread
};

/// Returns what the rules recognise in a trace, in the trace's own clock. Devices and lanes are those of the
/// trace (process and thread), not of a profile. Passes with a group, or without a stage, are collectives.
/// Fails if the user cancels.
base::Result<RecordedEvents> collectPasses(TraceData& trace, const Rules& rules, base::Progress& progress);

}  // namespace pipescope::importing
