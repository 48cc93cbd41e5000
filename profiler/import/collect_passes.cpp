#include "profiler/import/collect_passes.h"

#include "profiler/import/slice_lanes.h"

namespace pipescope::importing {
namespace {

std::int64_t numberOf(const TraceEvent& event, Argument argument) {
  const ArgumentValue* value = event.find(argument);
  return value == nullptr || value->text ? -1 : value->value;
}

}  // namespace

bool isPass(const Meaning& meaning) {
  if (!meaning.pass || meaning.sends) return false;
  const bool ofMicroBatch = meaning.microBatch || meaning.countsMicroBatch;
  return meaning.stage || *meaning.pass == model::Pass::update ||
         (ofMicroBatch && model::isComputePass(*meaning.pass));
}

RecordedPass recordedPass(const Meaning& meaning, const TraceEvent& event, model::DeviceId device,
                          model::LaneId lane, base::Ticks from, base::Ticks to) {
  RecordedPass pass;
  pass.device = device;
  pass.lane = lane;
  pass.start = from;
  pass.end = to;
  pass.pass = meaning.pass.value_or(model::Pass::forward);
  pass.statesPass = meaning.pass.has_value();
  pass.stage = meaning.stage.value_or(-1);
  pass.microBatch = meaning.microBatch.value_or(-1);
  pass.chunk = meaning.chunk.value_or(-1);
  pass.countsMicroBatch = meaning.countsMicroBatch && !meaning.sends;
  pass.step = meaning.step;
  pass.replica = meaning.replica;
  pass.group = meaning.group;
  if (meaning.sends) pass.peer = numberOf(event, *meaning.sends ? Argument::destination : Argument::source);
  return pass;
}

PassFilter::PassFilter(const TraceData& trace) : trace_(trace) {
  const auto count = static_cast<std::int64_t>(trace.tables.processes.size());
  for (ProcessId id(0); id.value < count; ++id.value) accelerated_ = accelerated_ || trace.isAccelerator(id);
}

bool PassFilter::launches(const Meaning& meaning, const TraceEvent& event) const {
  if (!accelerated_ || trace_.isAccelerator(event.process)) return false;
  // The accelerator's own slice of the same name tells when the work ran.
  return !meaning.stage || trace_.runsOnAccelerator(event.name);
}

/// In a trace that pipescope export has written, names of steps may look like passes and messages, too.
bool PassFilter::isOfCategory(const TraceEvent& event, std::string_view category) const {
  return !trace_.isOwnExport() || trace_.tables.names.text(event.category) == category;
}

bool PassFilter::takes(const Meaning& meaning, const TraceEvent& event, std::int64_t end) {
  if (!isPass(meaning) || launches(meaning, event) || !isOfCategory(event, "pass")) return false;
  // Within a pass there may be events that match as well, such as the optimizer's own name within an update.
  const auto [last, isNew] = passEnd_.try_emplace(event.thread, end);
  if (!isNew && end <= last->second) return false;
  last->second = end;
  return true;
}

bool PassFilter::takesMessage(const Meaning& meaning, const TraceEvent& event) const {
  return meaning.sends && (!accelerated_ || trace_.isAccelerator(event.process)) &&
         isOfCategory(event, "transfer");
}

base::Result<RecordedEvents> collectPasses(TraceData& trace, const Rules& rules) {
  RuleMatcher matcher(rules, trace.tables);
  PassFilter filter(trace);
  RecordedEvents events;
  Findings unused;  // The visit that writes the rows finds the same.
  const std::int64_t rank = trace.rank().value_or(-1);
  const auto take = [&](const Slice& slice, const TraceEvent& event) -> base::Status {
    const Meaning& meaning = matcher.meaningOf(event, slice.enclosing);
    const model::DeviceId process(event.process.value);
    const base::Ticks start(slice.start), end(slice.end);
    if (meaning.marksStep && meaning.step) events.steps.push_back({process, start, end, *meaning.step});
    if (meaning.marksBackward) events.backwardOperators.push_back({process, start, end});
    const bool pass = filter.takes(meaning, event, slice.end), message = filter.takesMessage(meaning, event);
    // Only a collective that several ranks take part in relates their clocks.
    const bool collective = meaning.kind == model::StepKind::globalExchange && !meaning.sends &&
                            (trace.isAccelerator(event.process) || !meaning.group.empty());
    if (!pass && !message && !collective) return {};
    RecordedPass row = recordedPass(meaning, event, process, model::LaneId(event.thread.value), start, end);
    row.rank = rank;
    row.name = trace.tables.names.text(event.name);
    if (message) {
      (*meaning.sends ? events.sends : events.receives).push_back(std::move(row));
    } else {
      if (!pass) row.pass = model::Pass::collective;
      events.passes.push_back(std::move(row));
    }
    return {};
  };
  PIPESCOPE_TRY(visitSlices(
      trace, unused, take, [](const TraceEvent&) {}, {}, rules.usesAnnotations()));
  return events;
}

}  // namespace pipescope::importing
