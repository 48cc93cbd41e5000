#include "profiler/import/profile_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <tuple>

#include "profiler/base/version.h"
#include "profiler/import/collect_passes.h"
#include "profiler/import/flow_pairs.h"
#include "profiler/import/slice_lanes.h"

namespace pipescope::importing {
namespace {

using base::Ticks;

constexpr std::int64_t kTicksPerSecond = 1'000'000'000'000;
/// Steps of a segment. A reader decodes a segment as a whole, so it must not grow with the trace.
constexpr std::size_t kStepsOfSegment = 4096;
const model::ExecutableId kExecutable(0);

/// True if a rule says what the slice is, not only where it ran.
bool isRecognised(const Meaning& meaning) {
  return meaning.pass || meaning.kind || meaning.sends || meaning.marksStep;
}

/// Collects the slices of one lane into segments.
struct LaneRows {
  model::LaneId lane;
  model::DeviceId device;
  std::vector<model::Step> steps;
  Ticks start, end;
};

}  // namespace

/// The rows of one trace while they are written.
struct ProfileRows::TraceRows {
  TraceRows(ProfileRows& all, TraceData& of, std::string devicePrefix, std::int64_t zero)
      : rows(all), trace(of), prefix(std::move(devicePrefix)), start(zero), rules(all.rules_, of.tables) {
    const auto count = static_cast<std::int64_t>(trace.tables.processes.size());
    for (ProcessId id(0); id.value < count; ++id.value)
      if (trace.isAccelerator(id)) accelerators.push_back(id);
  }

  ProfileRows& rows;
  TraceData& trace;
  const std::string prefix;
  const std::int64_t start;
  RuleMatcher rules;
  std::map<ProcessId, model::DeviceId> devices;
  std::map<std::tuple<ThreadId, std::size_t, model::DeviceId>, LaneRows> lanes;
  std::map<std::tuple<model::DeviceId, NameId, NameId>, model::ProgramId> programs;
  std::map<std::pair<ProcessId, NameId>, model::CounterId> counters;
  std::map<ThreadId, std::int64_t> passEnd;  // of the last pass of each thread
  FlowPairs flows;
  /// The end of an arrow. A slice with begin and end gets its lane only when it ends.
  struct FlowEnd {
    EventKind kind;
    NameId category;
    ThreadId thread;
    std::int64_t id, time;
    std::size_t level;
  };
  std::vector<FlowEnd> flowEnds;
  /// Processes with work of an accelerator. If there is only one, the host's processes share its device.
  std::vector<ProcessId> accelerators;

  record::Recorder& recorder() { return rows.recorder_; }
  const std::string& text(NameId id) const { return trace.tables.names.text(id); }
  Ticks ticks(std::int64_t time) const { return Ticks(time - start); }

  model::DeviceId addDevice(const std::string& name, const std::string& kind) {
    model::Device device;
    device.kind = kind;
    device.name = name;
    device.ticksPerSecond = kTicksPerSecond;
    device.unitName = "engine";
    ++rows.devices_;
    const model::DeviceId id = recorder().add(device);
    // The first lane of a device shows what the device waits for, so it is that of the recognised passes.
    rows.passLanes_[id].lane =
        recorder().add(model::Lane{{}, id, "passes", model::LaneRole::compute, model::ClockDomain::emulated});
    return id;
  }

  model::DeviceId deviceOf(ProcessId id) {
    const ProcessId owner = trace.isAccelerator(id) || accelerators.size() != 1 ? id : accelerators.front();
    const auto found = devices.find(owner);
    if (found != devices.end()) return found->second;
    const TraceProcess& process = trace.tables.processes[owner];
    std::string name = !process.labels.empty() ? process.labels
                       : !process.name.empty() ? process.name
                                               : process.key;
    if (!prefix.empty()) name = trace.tables.processes.size() == 1 ? prefix : prefix + " " + name;
    const std::string kind = accelerators.empty()         ? "process"
                             : trace.isAccelerator(owner) ? "accelerator"
                                                          : "host";
    return devices[owner] = addDevice(name, kind);
  }

  model::DeviceId deviceOf(const TraceEvent& event, const Meaning& meaning) {
    if (meaning.device.empty()) return deviceOf(event.process);
    const std::string name = prefix.empty() ? meaning.device : prefix + " " + meaning.device;
    model::DeviceId& device = rows.named_[name];
    if (!device.valid()) device = addDevice(name, "accelerator");
    return device;
  }

  LaneRows& laneOf(const TraceEvent& event, std::size_t level, model::DeviceId device,
                   const Meaning& meaning) {
    const std::tuple key(event.thread, level, device);
    const auto found = lanes.find(key);
    if (found != lanes.end()) return found->second;
    const TraceThread& thread = trace.tables.threads[event.thread];
    std::string name = !thread.name.empty() ? thread.name
                       : thread.key.empty() ? "events"
                                            : "thread " + thread.key;
    if (level > 0) name += fmt::format(", level {}", level + 1);
    const bool host = !accelerators.empty() && !trace.isAccelerator(thread.process);
    const auto role = meaning.engine.value_or(host ? model::LaneRole::hostThread : model::LaneRole::compute);
    LaneRows lane;
    lane.device = device;
    lane.lane = recorder().add(model::Lane{{}, device, name, role, model::ClockDomain::emulated});
    return lanes.emplace(key, std::move(lane)).first->second;
  }

  model::ProgramId programOf(model::DeviceId device, const TraceEvent& event) {
    model::ProgramId& program = programs[{device, event.name, event.category}];
    if (program.valid()) return program;
    const std::string name = text(event.name).empty() ? "(no name)" : text(event.name);
    model::Program row;
    row.executable = kExecutable;
    row.device = device;
    row.kind = text(event.category).empty() ? "event" : text(event.category);
    row.debugContext = recorder().add(model::DebugContext{{}, {}, name, "trace"});
    return program = recorder().add(row);
  }

  /// The lane on which a pass is drawn. Collectives run beside the passes; so do passes that overlap others.
  model::LaneId passLane(model::DeviceId device, const Meaning& meaning, Ticks from, Ticks to,
                         model::LaneId own) {
    Ticks& end = rows.passLanes_.at(device).end;
    if (meaning.pass == model::Pass::collective || from < end) return own;
    end = to;
    return rows.passLanes_.at(device).lane;
  }

  static RecordedPass recordedPass(const Meaning& meaning, model::DeviceId device, model::LaneId lane,
                                   Ticks from, Ticks to) {
    return RecordedPass{device,
                        lane,
                        from,
                        to,
                        *meaning.pass,
                        meaning.stage.value_or(-1),
                        meaning.microBatch.value_or(-1),
                        meaning.step,
                        meaning.replica,
                        {},
                        meaning.group};
  }

  base::Status slice(const Slice& slice, const TraceEvent& event) {
    const Meaning& meaning = rules.meaningOf(event);
    const model::DeviceId device = deviceOf(event, meaning);
    LaneRows& lane = laneOf(event, slice.lane, device, meaning);
    const Ticks from = ticks(slice.start), to = ticks(slice.end);
    flows.addSlice(event, trace.isAccelerator(event.process), lane.lane, from);
    ++rows.slices_;
    rows.recognised_ += isRecognised(meaning) ? 1 : 0;
    rows.last_ = std::max(rows.last_, to);
    if (meaning.marksStep && meaning.step) rows.passes_.add(RecordedStep{device, from, to, *meaning.step});
    // Within a pass there may be events that match as well, such as the optimizer's own name within an
    // update.
    const auto last = passEnd.find(event.thread);
    // A host thread that feeds an accelerator only starts the update.
    const bool launched = !meaning.stage && !accelerators.empty() && !trace.isAccelerator(event.process);
    const bool pass = isPass(meaning) && !launched && (last == passEnd.end() || slice.end > last->second);
    if (pass) passEnd[event.thread] = slice.end;
    if (pass || lane.steps.size() == kStepsOfSegment) PIPESCOPE_TRY(flush(lane));
    if (pass) {
      RecordedPass row =
          recordedPass(meaning, device, passLane(device, meaning, from, to, lane.lane), from, to);
      row.name = text(event.name);
      row.program = programOf(device, event);
      const bool collective = *meaning.pass == model::Pass::collective;
      row.kind =
          meaning.kind.value_or(collective ? model::StepKind::globalExchange : model::StepKind::compute);
      rows.passes_.add(std::move(row));
      return {};
    }
    if (meaning.sends && meaning.pass && meaning.stage)
      rows.passes_.addMessage(recordedPass(meaning, device, lane.lane, from, to), *meaning.sends);
    if (lane.steps.empty()) lane.start = from;
    model::Step step;
    step.lane = lane.lane;
    step.offset = from - lane.start;
    step.ticks = to - from;
    // A slice of a host thread may hold anything, also waits.
    const bool host = !trace.isAccelerator(event.process);
    step.kind = meaning.kind.value_or(host ? model::StepKind::control : model::StepKind::compute);
    step.program = programOf(device, event);
    step.activeUnits = 1;
    step.minTicks = step.maxTicks = step.ticks;
    step.meanTicks = static_cast<double>(step.ticks.count);
    lane.steps.push_back(step);
    lane.end = to;
    return {};
  }

  base::Status flush(LaneRows& lane) {
    if (lane.steps.empty()) return {};
    model::Segment segment;
    segment.executable = kExecutable;
    segment.device = lane.device;
    segment.lane = lane.lane;
    segment.pass = model::Pass::other;
    segment.ticks = lane.end - lane.start;
    model::Placement placement;
    placement.segment = recorder().add(segment);
    placement.device = lane.device;
    placement.start = lane.start;
    placement.end = lane.end;
    placement.run = model::RunId(0);
    placement.pass = model::Pass::other;
    recorder().add(placement);
    for (model::Step& step : lane.steps) {
      step.segment = placement.segment;
      recorder().add(step);
    }
    lane.steps.clear();
    return recorder().commitIfDue();
  }

  void flow(const TraceEvent& event, std::size_t level) {
    flowEnds.push_back({event.kind, event.category, event.thread, event.id, event.time, level});
  }
  void pairFlows();

  void counter(const TraceEvent& event) {
    model::CounterId& id = counters[{event.process, event.name}];
    if (!id.valid()) {
      model::Counter row;
      row.executable = kExecutable;
      row.device = deviceOf(event.process);
      row.name = text(event.name);
      id = recorder().add(row);
    }
    recorder().add(model::CounterSample{id, ticks(event.time), model::RunId(0), event.value});
  }
};

void ProfileRows::TraceRows::pairFlows() {
  TraceEvent event;
  for (const FlowEnd& end : flowEnds) {
    const auto lane = lanes.lower_bound({end.thread, end.level, model::DeviceId()});
    if (lane == lanes.end() || std::get<0>(lane->first) != end.thread ||
        std::get<1>(lane->first) != end.level)
      continue;
    event.kind = end.kind;
    event.id = end.id;
    event.category = end.category;
    flows.addFlow(event, text(end.category), lane->second.lane, ticks(end.time));
  }
  flows.write(recorder());
}

base::Status ProfileRows::add(TraceData& trace, const std::string& devicePrefix, std::int64_t start) {
  TraceRows rows(*this, trace, devicePrefix, start);
  PIPESCOPE_TRY(visitSlices(
      trace, trace.tables.findings,
      [&rows](const Slice& slice, const TraceEvent& event) { return rows.slice(slice, event); },
      [&rows](const TraceEvent& event) { rows.counter(event); },
      [&rows](const TraceEvent& event, std::size_t level) { rows.flow(event, level); }));
  for (auto& [key, lane] : rows.lanes) PIPESCOPE_TRY(rows.flush(lane));
  rows.pairFlows();
  return {};
}

void ProfileRows::end(const std::string& source, Picoseconds zero) {
  passes_.write(recorder_);
  recorder_.add(model::Property{"tool_version", base::version()});
  recorder_.add(model::Property{"imported_from", source});
  recorder_.add(model::Property{"times", "recorded by another tool"});
  const PassCoverage& coverage = passes_.coverage();
  const std::pair<const char*, std::int64_t> counts[] = {
      {"coverage_slices", slices_},
      {"coverage_recognised_slices", recognised_},
      {"coverage_messages", coverage.messages},
      {"coverage_paired_messages", coverage.pairedMessages},
      {"coverage_collectives", coverage.collectives},
      {"coverage_matched_collectives", coverage.matchedCollectives}};
  for (const auto& [key, count] : counts) recorder_.add(model::Property{key, std::to_string(count)});
  recorder_.add(model::Property{"trace_zero_picoseconds", fmt::format("{}", zero)});
  recorder_.add(model::Target{"imported", "imported", "a trace that another tool recorded", devices_,
                              devices_, model::TickMeaning::time});
  model::Run run;
  run.executable = kExecutable;
  run.name = "trace";
  run.end = last_;
  recorder_.add(run);
}

}  // namespace pipescope::importing
