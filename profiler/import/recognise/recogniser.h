#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/import/read/trace_data.h"
#include "profiler/import/recognise/backward_kernels.h"
#include "profiler/import/recognise/launched_work.h"
#include "profiler/import/recognise/recorded_pass.h"
#include "profiler/import/recognise/rules.h"
#include "profiler/import/recognise/slice_lanes.h"
#include "profiler/import/recognise/some_collectives.h"
#include "profiler/import/recognise/trace_devices.h"

namespace pipescope::importing {

/// Devices with engines. If rules know these, such as the queues of converted traces, ranges of a host are
/// times of launches. Takes the slices of a trace, and leaves the passes of hosts out.
class EngineWork {
 public:
  void add(const Meaning& meaning, model::DeviceId device) {
    if (meaning.engine && meaning.kind == model::StepKind::compute) devices_.insert(device);
  }
  /// Erases the computations that no device with an engine makes. Returns their number.
  std::int64_t leaveOutHosts(std::vector<RecordedPass>& passes) const;

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
  /// Returns the kind of step of an event; none: no rule says it. Work of an accelerator that names its
  /// collective communicates, whatever its library is called.
  std::optional<model::StepKind> kindOf(const Meaning& meaning, const TraceEvent& event) const;
  /// True if the trace holds work of an accelerator.
  bool accelerated() const { return accelerated_; }
  /// Number of passes that are left out because a host only launches them, and the trace does not tell what.
  std::int64_t launchesOnly() const { return launchesOnly_; }
  /// The pass that an event is, or the pass of the message that it is a side of.
  RecordedPass row(const Meaning& meaning, const TraceEvent& event, model::DeviceId device,
                   model::LaneId lane, base::Ticks from, base::Ticks to) const;
  /// The process group that a collective states; empty: none.
  std::string processGroupOf(const TraceEvent& event) const;
  /// Returns what a kernel of a collective has in common with those of its other ranks: the process group and
  /// the operation that it states; empty: it is none, or states no group.
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
  const std::int64_t rank_;                                        // rank of the file; −1: not stated
  const std::map<std::string, std::vector<std::int64_t>> groups_;  // ranks of process groups, by name
  bool accelerated_ = false;
  std::int64_t launchesOnly_ = 0;
  std::map<ThreadId, std::int64_t> passEnd_;  // end of the last pass of each thread
};

/// Recognises what the events of one trace are: training steps, passes, messages and collectives. All that
/// asks for the meaning of events goes through this class, and each event is recognised once, however often
/// the slices of the trace are visited. Devices and lanes are those of devices(), times those of the trace.
/// Events must come thread by thread, in the order of time.
class Recogniser {
 public:
  Recogniser(const TraceData& trace, const Rules& rules);
  /// Lets collectives() keep what relates the clocks of several traces. To be called before take().
  void keepCollectives() { keepsCollectives_ = true; }

  /// Returns what an event means. It is valid until the next call.
  const Meaning& meaningOf(const TraceEvent& event, const Slice& slice) {
    return matcher_.meaningOf(event, slice.enclosing);
  }
  TraceDevices& devices() { return devices_; }
  /// Device and lane of an event.
  struct Where {
    model::DeviceId device;
    model::LaneId lane;
  };
  Where whereIs(const TraceEvent& event, const Slice& slice, const Meaning& meaning) {
    const model::DeviceId device = devices_.deviceOf(event, meaning);
    return {device, devices_.laneOf(event, slice.lane, device, meaning)};
  }

  /// The result of recognising an event.
  struct Taken {
    bool isPass = false;     ///< events() hold the event as a pass, or the kernels that it launched as one
    bool isShownAs = false;  ///< the pass is shown in place of the event
  };
  /// Takes the next slice of the trace and recognises it. Visits after finish() return the results of the
  /// first visit.
  Taken take(const TraceEvent& event, const Slice& slice, const Meaning& meaning, const Where& where);
  /// Number of the slice that take() took last, from 0 in each visit.
  std::int64_t slice() const { return slice_; }
  /// Returns the kind of step of an event; none: no rule says it.
  std::optional<model::StepKind> kindOf(const Meaning& meaning, const TraceEvent& event) const {
    return filter_.kindOf(meaning, event);
  }
  /// See PassFilter::kernelGroupOf().
  std::string kernelGroupOf(const Meaning& meaning, const TraceEvent& event) const {
    return filter_.kernelGroupOf(meaning, event);
  }

  /// Ends a visit of all slices. At the end of the first visit, events() gets the passes for which all slices
  /// must be known, such as those of launched kernels.
  void finish();
  bool isFinished() const { return finished_; }
  /// The recognised events. Valid after finish().
  RecordedEvents& events() { return events_; }
  /// Some thousand passes and kernels of collectives, enough to relate the clocks of several traces.
  const std::vector<RecordedPass>& collectives() const { return collectives_; }
  /// Number of passes that are left out because only their launches are known. Valid after finish().
  std::int64_t launchesOnly() const { return launchesOnly_; }

 private:
  struct TakenSlice {
    std::int64_t slice = 0;
    bool isShownAs = false;
  };
  Taken recognise(const TraceEvent& event, const Slice& slice, const Meaning& meaning, const Where& where);
  void takeAsPass(const TraceEvent& event, const Meaning& meaning, RecordedPass first);
  void addPass(RecordedPass pass);
  void addCollective(RecordedPass collective);

  const TraceData& trace_;
  RecordedEvents events_;
  SomeCollectives someCollectives_;
  std::vector<RecordedPass> collectives_;
  RuleMatcher matcher_;
  TraceDevices devices_;
  PassFilter filter_;
  EngineWork engines_;
  BackwardKernels backward_;
  LaunchedWork launched_;
  std::vector<RecordedStep> steps_;
  std::int64_t launchesOnly_ = 0;
  std::int64_t slice_ = -1;
  std::vector<TakenSlice> taken_;  // slices that are passes
  std::size_t next_ = 0;           // the first of these that a later visit has not passed
  bool finished_ = false, keepsCollectives_ = false;
};

/// Recognises what a trace holds, with its collectives, before anybody writes its rows. Fails if the user
/// cancels.
base::Status recognise(TraceData& trace, const Rules& rules, Recogniser& recogniser,
                       base::Progress& progress);

}  // namespace pipescope::importing
