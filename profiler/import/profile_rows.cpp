#include "profiler/import/profile_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <tuple>

namespace pipescope::importing {
namespace {

using base::Ticks;

constexpr std::int64_t kTicksPerSecond = 1'000'000'000'000;
/// Steps of a segment. A reader decodes a segment as a whole, so it must not grow with the trace.
constexpr std::size_t kStepsOfSegment = 4096;

model::StepKind kindOf(std::string_view name, std::string_view category) {
  const auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
  if (has("nccl") || has("gloo:") || has("hccl") || has("rccl")) return model::StepKind::globalExchange;
  if (category == "gpu_memcpy" || category == "Memcpy") return model::StepKind::streamCopy;
  if (category == "cuda_sync") return model::StepKind::sync;
  return model::StepKind::compute;
}

}  // namespace

/// Collects the slices of one lane into segments.
struct ProfileRows::LaneRows {
  model::LaneId lane;
  model::DeviceId device;
  std::vector<model::Step> steps;
  Ticks start, end;
};

/// The rows of one trace while they are written.
struct ProfileRows::TraceRows {
  ProfileRows& rows;
  TraceData& trace;
  const std::string prefix;
  const std::int64_t origin;
  std::map<ProcessId, model::DeviceId> devices = {};
  std::map<std::pair<ThreadId, std::size_t>, LaneRows> lanes = {};
  std::map<std::tuple<model::DeviceId, NameId, NameId>, model::ProgramId> programs = {};
  std::map<std::pair<ProcessId, NameId>, model::CounterId> counters = {};
  /// Processes with work of an accelerator. A process of the host shares the device of the only one.
  std::vector<ProcessId> accelerators = {};

  record::Recorder& recorder() { return rows.recorder_; }

  model::DeviceId deviceOf(ProcessId id) {
    const bool accelerator = trace.isAccelerator(id);
    const ProcessId owner = accelerator || accelerators.size() != 1 ? id : accelerators.front();
    const auto found = devices.find(owner);
    if (found != devices.end()) return found->second;
    const TraceProcess& process = trace.tables.processes[owner];
    std::string name = !process.labels.empty() ? process.labels
                       : !process.name.empty() ? process.name
                                               : process.key;
    if (!prefix.empty()) name = trace.tables.processes.size() == 1 ? prefix : prefix + " " + name;
    model::Device device;
    device.kind = accelerators.empty() ? "process" : accelerator || owner != id ? "accelerator" : "host";
    device.name = name;
    device.ticksPerSecond = kTicksPerSecond;
    device.unitName = "engine";
    ++rows.devices_;
    return devices[owner] = recorder().add(device);
  }

  LaneRows& laneOf(ThreadId thread, std::size_t level) {
    const auto found = lanes.find({thread, level});
    if (found != lanes.end()) return found->second;
    const TraceThread& row = trace.tables.threads[thread];
    LaneRows lane;
    lane.device = deviceOf(row.process);
    std::string name = !row.name.empty() ? row.name : row.key.empty() ? "events" : "thread " + row.key;
    if (level > 0) name += fmt::format(", level {}", level + 1);
    const bool accelerator = trace.isAccelerator(row.process);
    const auto role =
        accelerator || accelerators.empty() ? model::LaneRole::compute : model::LaneRole::hostThread;
    lane.lane = recorder().add(model::Lane{{}, lane.device, name, role, model::ClockDomain::emulated});
    return lanes.emplace(std::pair(thread, level), std::move(lane)).first->second;
  }

  model::ProgramId programOf(model::DeviceId device, NameId name, NameId category) {
    auto& program = programs[{device, name, category}];
    if (program.valid()) return program;
    const std::string& text = trace.tables.names.text(name);
    const std::string& group = trace.tables.names.text(category);
    const auto context =
        recorder().add(model::DebugContext{{}, {}, text.empty() ? "(no name)" : text, "trace"});
    model::Program row;
    row.executable = rows.executable_;
    row.device = device;
    row.kind = group.empty() ? "event" : group;
    row.debugContext = context;
    return program = recorder().add(row);
  }

  Ticks ticks(std::int64_t time) const { return Ticks(time - origin); }

  base::Status slice(ThreadId thread, const Slice& slice) {
    LaneRows& lane = laneOf(thread, slice.lane);
    if (lane.steps.size() == kStepsOfSegment) PIPESCOPE_TRY(flush(lane));
    const Ticks start = ticks(slice.start), end = ticks(slice.end);
    if (lane.steps.empty()) lane.start = start;
    model::Step step;
    step.lane = lane.lane;
    step.offset = start - lane.start;
    step.ticks = end - start;
    step.kind = kindOf(trace.tables.names.text(slice.name), trace.tables.names.text(slice.category));
    step.program = programOf(lane.device, slice.name, slice.category);
    step.activeUnits = 1;
    step.minTicks = step.maxTicks = step.ticks;
    step.meanTicks = static_cast<double>(step.ticks.count);
    lane.steps.push_back(step);
    lane.end = end;
    ++rows.slices_;
    return {};
  }

  base::Status flush(LaneRows& lane) {
    if (lane.steps.empty()) return {};
    model::Segment segment;
    segment.executable = rows.executable_;
    segment.device = lane.device;
    segment.lane = lane.lane;
    segment.pass = model::Pass::other;
    segment.ticks = lane.end - lane.start;
    const model::SegmentId id = recorder().add(segment);
    for (model::Step& step : lane.steps) {
      step.segment = id;
      recorder().add(step);
    }
    model::Placement placement;
    placement.segment = id;
    placement.device = lane.device;
    placement.start = lane.start;
    placement.end = lane.end;
    placement.run = model::RunId(0);
    placement.pass = model::Pass::other;
    recorder().add(placement);
    rows.last_ = std::max(rows.last_, lane.end);
    lane.steps.clear();
    return recorder().commitIfDue();
  }

  void counter(const TraceEvent& event) {
    auto& id = counters[{event.process, event.name}];
    if (!id.valid()) {
      model::Counter row;
      row.executable = rows.executable_;
      row.device = deviceOf(event.process);
      row.name = trace.tables.names.text(event.name);
      id = recorder().add(row);
    }
    recorder().add(model::CounterSample{id, ticks(event.time), model::RunId(0), event.value});
  }

  void findAccelerators() {
    const auto count = static_cast<std::int64_t>(trace.tables.processes.size());
    for (ProcessId id(0); id.value < count; ++id.value)
      if (trace.isAccelerator(id)) accelerators.push_back(id);
  }
};

void ProfileRows::begin(const std::string& source) {
  recorder_.add(model::Property{"imported_from", source});
  model::Executable executable;
  executable.name = "trace";
  executable_ = recorder_.add(executable);
}

base::Status ProfileRows::add(TraceData& trace, const std::string& devicePrefix, std::int64_t start) {
  TraceRows rows{*this, trace, devicePrefix, start};
  rows.findAccelerators();
  std::optional<SliceLanes> lanes;
  ThreadId thread;
  const auto take = [&](const TraceEvent& event) -> base::Status {
    if (event.thread != thread) {
      if (lanes) PIPESCOPE_TRY(lanes->finish(trace.lastTime));
      thread = event.thread;
      lanes.emplace(trace.tables.findings,
                    [&rows, thread](const Slice& slice) { return rows.slice(thread, slice); });
    }
    if (event.kind == EventKind::counter) {
      rows.counter(event);
      return {};
    }
    return lanes->add(event);
  };
  PIPESCOPE_TRY(trace.events.visit(take));
  if (lanes) PIPESCOPE_TRY(lanes->finish(trace.lastTime));
  for (auto& [key, lane] : rows.lanes) PIPESCOPE_TRY(rows.flush(lane));
  return {};
}

void ProfileRows::end() {
  recorder_.add(model::Target{"imported", "imported", "a trace that another tool recorded", devices_,
                              devices_, model::TickMeaning::time});
  model::Run run;
  run.executable = executable_;
  run.name = "trace";
  run.end = last_;
  recorder_.add(run);
}

}  // namespace pipescope::importing
