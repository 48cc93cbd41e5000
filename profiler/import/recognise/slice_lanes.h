#pragma once
#include <functional>
#include <span>
#include <vector>

#include "profiler/base/executor.h"
#include "profiler/base/result.h"
#include "profiler/import/read/trace_data.h"
#include "profiler/import/read/trace_event.h"

namespace pipescope::importing {

/// An event with a known start and end on a lane of its thread. Slices of one lane never overlap and come in
/// the order of time.
struct Slice {
  std::size_t lane = 0;  ///< 0: not enclosed by another slice of the thread
  std::int64_t start = 0, end = 0;
  /// Names of the slices of the thread that enclose it, outermost first; empty if nobody asked for them.
  std::span<const NameId> enclosing = {};
};

/// Arranges the events of one thread on lanes: a slice lies one lane below the slice that encloses it.
/// Slices that overlap without enclosing each other get different lanes, too. It also joins begin and end
/// events. The events must come ordered by start, longer ones first, as EventSorter delivers them.
class SliceLanes {
 public:
  /// Gets each slice with its event; of a slice with begin and end the begin event.
  using Emit = std::function<base::Status(const Slice&, const TraceEvent&)>;
  /// Gets a flow event with the lane of the innermost slice that encloses it.
  using EmitFlow = std::function<base::Status(const TraceEvent&, std::size_t lane)>;
  /// `enclosing` asks for Slice::enclosing.
  SliceLanes(Findings& findings, Emit emit, EmitFlow flow = {}, bool enclosing = false)
      : findings_(findings), emit_(std::move(emit)), flow_(std::move(flow)), asksEnclosing_(enclosing) {}

  /// Takes a complete, begin, end, instant or flow event, or an asynchronous begin, instant or end.
  base::Status add(const TraceEvent& event);
  /// Ends the slices that were never ended at `traceEnd`.
  base::Status finish(std::int64_t traceEnd);

 private:
  struct Open {
    std::size_t lane = 0;
    TraceEvent begin;
    std::vector<NameId> enclosing;
  };
  /// A slice that starts together with begun slices whose ends are not known: which one encloses the other is
  /// decided when it ends, or when they do.
  struct Undecided {
    std::size_t lane = 0;
    TraceEvent event;
    std::int64_t end = 0;
    std::vector<NameId> enclosing;
  };
  struct Running {
    std::int64_t start = 0, end = 0;
    NameId name;
  };
  std::size_t freeLane(std::int64_t time);
  std::vector<NameId> enclosing(std::int64_t start, std::int64_t end);
  base::Status place(const TraceEvent& event, std::int64_t end);
  base::Status close(std::size_t index, std::int64_t end);
  bool startsWithBegun(const TraceEvent& event) const;
  void yieldToLonger(Open& ended, std::int64_t end);
  base::Status emitDecided(std::int64_t time);
  base::Status end(const TraceEvent& event);

  Findings& findings_;
  Emit emit_;
  EmitFlow flow_;
  std::vector<std::int64_t> busyUntil_;  // end of the work of each lane
  const bool asksEnclosing_;
  std::vector<Running> running_;       // slices that may enclose later ones
  std::vector<Open> open_;             // slices whose end has not come, in the order of their starts
  std::vector<Undecided> undecided_;   // the longer one of each start first
  std::vector<TraceEvent> earlyEnds_;  // ends without a begin, at the time of the last event
};

/// Arranges all events of a trace, thread by thread. Counters go to `counter`. The executor reads events
/// while those before them are arranged; null: the calling thread does both.
base::Status visitSlices(TraceData& trace, Findings& findings, const SliceLanes::Emit& slice,
                         const std::function<void(const TraceEvent&)>& counter,
                         const SliceLanes::EmitFlow& flow = {}, bool enclosing = false,
                         base::Executor* executor = nullptr);

}  // namespace pipescope::importing
