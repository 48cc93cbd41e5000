#pragma once
#include "profiler/import/recorded_pass.h"
#include "profiler/import/rules.h"
#include "profiler/import/trace_reader.h"

namespace pipescope::importing {

/// True if the event is a pass of a stage, or a weight update, of which RecordedPasses writes the rows.
bool isPass(const Meaning& meaning);

/// The pass that an event is, or the pass of the message that it is a side of.
RecordedPass recordedPass(const Meaning& meaning, const TraceEvent& event, model::DeviceId device,
                          model::LaneId lane, base::Ticks from, base::Ticks to);

/// Recognises the passes among the events of a trace. Events must come thread by thread, in the order of
/// time.
class PassFilter {
 public:
  explicit PassFilter(const TraceData& trace);

  /// False if the event lies within another pass of its thread, or if it only launches work of an
  /// accelerator.
  bool takes(const Meaning& meaning, const TraceEvent& event, std::int64_t end);
  /// True for a message that the event's device sends or receives itself.
  bool takesMessage(const Meaning& meaning, const TraceEvent& event) const;

 private:
  bool launches(const Meaning& meaning, const TraceEvent& event) const;
  bool isOfCategory(const TraceEvent& event, std::string_view category) const;

  const TraceData& trace_;
  bool accelerated_ = false;
  std::map<ThreadId, std::int64_t> passEnd_;  // of the last pass of each thread
};

/// Returns what the rules recognise in a trace, in the trace's own clock. Devices and lanes are those of the
/// trace (process and thread), not of a profile. Passes with a group, or without a stage, are collectives.
base::Result<RecordedEvents> collectPasses(TraceData& trace, const Rules& rules);

}  // namespace pipescope::importing
