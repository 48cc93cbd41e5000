#include "profiler/import/write/profile_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <tuple>
#include <utility>

#include "profiler/base/version.h"
#include "profiler/import/recognise/flow_pairs.h"
#include "profiler/import/recognise/progress_part.h"
#include "profiler/import/recognise/recogniser.h"
#include "profiler/import/recognise/slice_lanes.h"

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

bool isNumber(const std::string& text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

/// Collects the slices of one lane into segments.
struct LaneRows {
  model::LaneId lane;  ///< none: the lane has no row yet
  model::DeviceId device;
  std::vector<model::Step> steps;
  Ticks start, end;
};

}  // namespace

/// The rows of one trace while they are written.
struct ProfileRows::TraceRows {
  TraceRows(ProfileRows& all, TraceData& of, Recogniser& recognised, std::string devicePrefix,
            const TraceClock& zero)
      : rows(all),
        trace(of),
        recogniser(recognised),
        prefix(std::move(devicePrefix)),
        clock(zero),
        flows(of.temporaryFolder, of.statesCorrelations()),
        flowEnds(of.temporaryFolder, EventSorter::Limits{8 << 20, 64 << 10}) {}

  ProfileRows& rows;
  TraceData& trace;
  Recogniser& recogniser;
  const std::string prefix;
  const TraceClock clock;
  std::vector<model::DeviceId> devices;  ///< by the trace's own number; none: the device has no row yet
  std::deque<LaneRows> lanes;            ///< by the trace's own number
  /// Programs of the slices that are passes, by the numbers of these slices.
  std::vector<std::pair<std::int64_t, model::ProgramId>> programsOfPasses;
  std::map<std::pair<model::DeviceId, std::string>, int> namedLanes;  ///< number of lanes of each stated name
  /// Programs by device, name, category, layerOf(), block, and the work that the slice states.
  std::map<std::tuple<model::DeviceId, NameId, NameId, std::string, std::string, std::optional<StatedWork>>,
           model::ProgramId>
      programs;
  /// The same for programs without layer and block, which most are.
  std::unordered_map<std::size_t, model::ProgramId> plainPrograms;
  std::map<std::pair<ProcessId, NameId>, model::CounterId> counters;
  FlowPairs flows;
  /// Ends of arrows, with the level of their slice as the process. A slice with begin and end gets its lane
  /// only when it ends.
  EventSorter flowEnds;

  record::Recorder& recorder() { return rows.recorder_; }
  const std::string& text(NameId id) const { return trace.tables.names.text(id); }
  Ticks ticks(std::int64_t time) const { return Ticks(clock.common(time)); }

  model::DeviceId addDevice(const std::string& name, const std::string& kind) {
    return rows.addDevice(name, kind, clock.group);
  }

  /// Parts of a process that name it: its label, its name, or both with its rank or number.
  enum class NamedBy : std::uint8_t { label, name, rankAndLabel, labelAndKey };
  std::map<std::pair<NamedBy, std::string>, int> nameCounts;
  std::string nameOf(ProcessId id, NamedBy how) const {
    const TraceProcess& process = trace.tables.processes[id];
    const std::string own = !process.labels.empty() && how != NamedBy::name ? process.labels
                            : !process.name.empty()                         ? process.name
                            : process.key.empty()                           ? "tracks without a process"
                            : isNumber(process.key)                         ? "process " + process.key
                                                                            : process.key;
    if (how == NamedBy::labelAndKey) return fmt::format("{} ({})", own, process.key);
    const auto rank = how == NamedBy::rankAndLabel ? trace.mergedRankOf(id) : std::nullopt;
    return rank ? fmt::format("rank {} {}", *rank, own) : own;
  }

  /// The first of these names that no other device has.
  std::string nameOf(ProcessId id) {
    using enum NamedBy;
    const TraceDevices& all = recogniser.devices();
    const bool alone = all.accelerators().size() == 1;  // The host's processes share its device.
    if (nameCounts.empty())
      for (ProcessId other(0); other.value < static_cast<std::int64_t>(trace.tables.processes.size());
           ++other.value)
        for (const NamedBy how : {label, name, rankAndLabel})
          if (trace.holdsEvents(other) && (!alone || all.ownerOf(other) == other))
            ++nameCounts[{how, nameOf(other, how)}];
    for (const NamedBy how : {label, name, rankAndLabel})
      if (const auto count = nameCounts.find({how, nameOf(id, how)});
          count == nameCounts.end() || count->second < 2)
        return nameOf(id, how);
    return nameOf(id, labelAndKey);
  }

  /// The row of a device that the trace knows by this number.
  model::DeviceId deviceRow(model::DeviceId own) {
    const auto at = static_cast<std::size_t>(own.value);
    if (at >= devices.size()) devices.resize(at + 1);
    if (devices[at].valid()) return devices[at];
    const auto process = recogniser.devices().processOf(own);
    return devices[at] = process ? addDeviceOf(*process) : addNamed(recogniser.devices().nameOf(own));
  }

  model::DeviceId addDeviceOf(ProcessId process) {
    std::string name = nameOf(process);
    if (!prefix.empty()) name = trace.tables.processes.size() == 1 ? prefix : prefix + " " + name;
    const std::string kind = !trace.holdsAccelerators()     ? "process"
                             : trace.isAccelerator(process) ? "accelerator"
                                                            : "host";
    return addDevice(name, kind);
  }

  model::DeviceId addNamed(const std::string& named) {
    const std::string name = prefix.empty() ? named : prefix + " " + named;
    model::DeviceId& device = rows.named_[name];
    if (!device.valid()) device = addDevice(name, "accelerator");
    return device;
  }

  /// The rows of an event's lane, which the trace knows by this number.
  LaneRows& laneRows(model::LaneId own, const Meaning& meaning) {
    const auto at = static_cast<std::size_t>(own.value);
    if (at >= lanes.size()) lanes.resize(at + 1);
    if (!lanes[at].lane.valid()) addLane(recogniser.devices().lane(own), meaning, lanes[at]);
    return lanes[at];
  }

  void addLane(const TraceDevices::Lane& own, const Meaning& meaning, LaneRows& lane) {
    const TraceThread& thread = trace.tables.threads[own.thread];
    std::string name = !own.name.empty()      ? own.name
                       : !thread.name.empty() ? thread.name
                       : thread.key.empty()   ? "events"
                                              : "thread " + thread.key;
    lane.device = deviceRow(own.device);
    if (own.name.empty()) {
      if (own.level > 0) name += fmt::format(", level {}", own.level + 1);
    } else if (const int number = ++namedLanes[{lane.device, own.name}]; number > 1) {
      name += fmt::format(", row {}", number);
    }
    const bool host = !trace.isAccelerator(thread.process) && meaning.device.empty();
    const auto role = meaning.engine.value_or(host ? model::LaneRole::hostThread : model::LaneRole::compute);
    if (!meaning.engineTitle.empty() && rows.titled_.insert(role).second)
      recorder().add(model::laneTitleProperty(role, meaning.engineTitle));
    lane.lane = recorder().add(model::Lane{{}, lane.device, name, role, model::ClockDomain::emulated});
    if (host && own.name.empty())
      rows.passes_.places().threads[lane.lane] = thread.name.empty() ? "thread " + thread.key : thread.name;
  }

  /// Returns what a collective or a message of an accelerator states about itself: its process group and its
  /// operation; else empty.
  std::string groupOf(const TraceEvent& event, const Meaning& meaning) const {
    const ArgumentValue* group = event.find(Argument::processGroup);
    if (group == nullptr) return meaning.sends ? *meaning.sends ? "message, send" : "message, recv" : "";
    const auto valueText = [this](const ArgumentValue& value) {
      return value.text ? text(NameId(value.value)) : std::to_string(value.value);
    };
    const ArgumentValue* collective = event.find(Argument::collective);
    return "process group " + valueText(*group) +
           (collective != nullptr ? ", " + valueText(*collective) : "");
  }

  /// Returns what the analysis must know of an event beside its name and category; mostly nothing.
  std::string layerOf(const TraceEvent& event, const Meaning& meaning) const {
    if (meaning.marksStep && meaning.step) return fmt::format("training step {}", *meaning.step);
    if (event.find(Argument::processGroup) != nullptr ||
        (meaning.sends && event.find(Argument::collective) != nullptr))
      return groupOf(event, meaning);
    const bool collective = meaning.kind == model::StepKind::globalExchange && !meaning.sends;
    return collective && recogniser.devices().accelerators().empty() ? "collective" : "";
  }

  model::ProgramId programOf(model::DeviceId device, const TraceEvent& event, const Meaning& meaning) {
    const std::string layer = layerOf(event, meaning);
    if (!layer.empty() || !meaning.block.empty() || statedWork(event, meaning))
      return programOf(device, event, meaning, layer);
    const std::size_t key = (static_cast<std::size_t>(device.value) << 48U) ^
                            (static_cast<std::size_t>(event.category.value) << 32U) ^
                            static_cast<std::size_t>(event.name.value);
    const bool unique = device.value < 0xFFFF && event.category.value < 0xFFFF;
    if (!unique) return programOf(device, event, meaning, {});
    model::ProgramId& program = plainPrograms[key];
    return program.valid() ? program : program = programOf(device, event, meaning, {});
  }

  model::ProgramId programOf(model::DeviceId device, const TraceEvent& event, const Meaning& meaning,
                             const std::string& layer) {
    const std::optional<StatedWork> work = statedWork(event, meaning);
    model::ProgramId& program = programs[{device, event.name, event.category, layer, meaning.block, work}];
    if (program.valid()) return program;
    const std::string name = text(event.name).empty() ? "(no name)" : text(event.name);
    model::Program row;
    row.executable = kExecutable;
    row.device = device;
    row.kind = text(event.category).empty() ? "event" : text(event.category);
    row.debugContext = recorder().add(model::DebugContext{{}, {}, name, layer.empty() ? "trace" : layer});
    if (!meaning.block.empty()) row.op = operatorOf(row, meaning);
    if (work) row.op = workOf(*work, meaning, row);
    return program = recorder().add(row);
  }

  /// An operator states the block of the model that its slices belong to.
  model::OperatorId operatorOf(const model::Program& program, const Meaning& meaning) {
    model::Operator row;
    row.executable = kExecutable;
    row.debugContext = program.debugContext;
    row.kind = program.kind;
    row.stage = meaning.stage.value_or(-1);
    row.pass = meaning.pass.value_or(model::Pass::other);
    row.block = meaning.block;
    return recorder().add(row);
  }

  /// Parts of a pass may state work of their own.
  static std::optional<StatedWork> statedWork(const TraceEvent& event, const Meaning& meaning) {
    if (!meaning.stage || !meaning.pass || !model::isComputePass(*meaning.pass)) return std::nullopt;
    const auto amount = [&](Argument argument) {
      return std::max<std::int64_t>(event.numberOf(argument), 0);
    };
    const std::int64_t flops = amount(Argument::operations), bytes = amount(Argument::tensorBytes);
    if (flops + bytes == 0) return std::nullopt;
    return StatedWork{*meaning.stage, *meaning.pass, flops, bytes};
  }

  /// The operator that stands for the work of a stage's pass, which is the same for all micro-batches.
  model::OperatorId workOf(const StatedWork& work, const Meaning& meaning, const model::Program& program) {
    model::OperatorId& known = rows.works_[work];
    if (known.valid()) return known;
    model::Operator row;
    row.executable = kExecutable;
    row.debugContext = program.debugContext;
    row.kind = "pass";
    row.stage = std::get<0>(work);
    row.pass = std::get<1>(work);
    row.block = meaning.block;
    row.flops = static_cast<double>(std::get<2>(work));
    row.bytes = base::Bytes(std::get<3>(work));
    return known = recorder().add(row);
  }

  base::Status slice(const Slice& slice, const TraceEvent& event) {
    const Meaning& meaning = recogniser.meaningOf(event, slice);
    if (meaning.marksSummary) {
      trace.tables.findings.add("An event repeats what others state, as a rule says, and is left out.");
      return {};
    }
    const Recogniser::Where where = recogniser.whereIs(event, slice, meaning);
    LaneRows& lane = laneRows(where.lane, meaning);
    const model::DeviceId device = lane.device;
    const Ticks from = ticks(slice.start), to = ticks(slice.end);
    PIPESCOPE_TRY(flows.addSlice(trace.launchOf(event), trace.isAccelerator(event.process), lane.lane, from));
    ++rows.slices_;
    rows.recognised_ += isRecognised(meaning) ? 1 : 0;
    rows.last_ = std::max(rows.last_, to);
    const model::ProgramId program = programOf(device, event, meaning);
    const Recogniser::Taken taken = recogniser.take(event, slice, meaning, where);
    if (taken.isPass) programsOfPasses.emplace_back(recogniser.slice(), program);
    if (taken.isShownAs || lane.steps.size() == kStepsOfSegment) PIPESCOPE_TRY(flush(lane));
    if (taken.isShownAs) return {};
    if (const std::string group = recogniser.kernelGroupOf(meaning, event); !group.empty())
      rows.passes_.addKernelCollective(group, {device, from, to});
    if (lane.steps.empty()) lane.start = from;
    model::Step step;
    step.lane = lane.lane;
    step.offset = from - lane.start;
    step.ticks = to - from;
    // A slice of a host thread may hold anything, also waits.
    const bool host = !trace.isAccelerator(event.process);
    step.kind = recogniser.kindOf(meaning, event)
                    .value_or(host ? model::StepKind::control : model::StepKind::compute);
    step.program = program;
    step.activeUnits = 1;
    step.minTicks = step.maxTicks = step.ticks;
    step.meanTicks = static_cast<double>(step.ticks.count);
    setBytes(event, meaning, step);
    lane.steps.push_back(step);
    lane.end = to;
    return {};
  }

  /// The bytes that a step, or a copy between host and device, states.
  static void setBytes(const TraceEvent& event, const Meaning& meaning, model::Step& step) {
    const auto stated = [&](Argument argument) {
      return base::Bytes(std::max<std::int64_t>(event.numberOf(argument), 0));
    };
    step.bytesIn = stated(Argument::bytesIn);
    step.bytesOut = stated(Argument::bytesOut);
    if (!meaning.copiesIn) return;
    base::Bytes& copied = *meaning.copiesIn ? step.bytesIn : step.bytesOut;
    copied = std::max(copied, stated(Argument::bytes));
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
    return recorder().commitIfDue(true);
  }

  base::Status flow(const TraceEvent& event, std::size_t level) {
    if (flows.isKnown(text(event.category))) return {};
    TraceEvent end = event;
    end.process = ProcessId(static_cast<std::int64_t>(level));
    end.argumentCount = 0;
    return flowEnds.add(end);
  }
  base::Status pairFlows();

  /// Puts what was recognised into the terms of rows.
  struct ToRows {
    TraceRows& rows;

    void operator()(RecordedStep& step) const { move(step); }
    void operator()(RecordedStretch& stretch) const { move(stretch); }
    void operator()(RecordedPass& pass) const {
      move(pass);
      pass.lane = rows.lanes[static_cast<std::size_t>(pass.lane.value)].lane;
      const auto& programs = rows.programsOfPasses;
      const auto program = std::ranges::lower_bound(programs, pass.slice, {},
                                                    &std::pair<std::int64_t, model::ProgramId>::first);
      if (program != programs.end() && program->first == pass.slice) pass.program = program->second;
    }

   private:
    template <class Stretch>
    void move(Stretch& stretch) const {
      stretch.device = rows.devices[static_cast<std::size_t>(stretch.device.value)];
      stretch.start = rows.ticks(stretch.start.count);
      stretch.end = rows.ticks(stretch.end.count);
    }
  };

  void finish() {
    recogniser.finish();
    rows.launchesOnly_ += recogniser.launchesOnly();
    rows.passes_.events().append(std::move(recogniser.events()), ToRows{*this});
  }

  void counter(const TraceEvent& event) {
    model::CounterId& id = counters[{event.process, event.name}];
    if (!id.valid()) {
      model::Counter row;
      row.executable = kExecutable;
      row.device = deviceRow(recogniser.devices().deviceOf(event, {}));
      row.name = text(event.name);
      const auto unit = trace.tables.counterUnits.find(event.name);
      if (unit != trace.tables.counterUnits.end()) row.unit = unit->second;
      id = recorder().add(row);
    }
    recorder().add(model::CounterSample{id, ticks(event.time), model::RunId(0), event.value});
  }
};

model::DeviceId ProfileRows::addDevice(const std::string& name, const std::string& kind,
                                       std::size_t clockGroup) {
  model::Device device;
  device.kind = kind;
  device.name = name;
  device.ticksPerSecond = kTicksPerSecond;
  device.unitName = "engine";
  ++devices_;
  const model::DeviceId id = recorder_.add(device);
  // The first lane of a device shows what the device waits for, so it is that of the recognised passes.
  passes_.setLane(id, recorder_.add(model::Lane{
                          {}, id, "passes", model::LaneRole::compute, model::ClockDomain::emulated}));
  passes_.setClockGroup(id, clockGroup);
  passes_.places().devices[id] = name;
  return id;
}

base::Status ProfileRows::TraceRows::pairFlows() {
  PIPESCOPE_TRY(flowEnds.visit([this](const TraceEvent& end) -> base::Status {
    const auto lane = recogniser.devices().firstLane(end.thread, static_cast<std::size_t>(end.process.value));
    if (!lane) return {};
    return flows.addFlow(end, lanes[static_cast<std::size_t>(lane->value)].lane, ticks(end.time));
  }));
  std::map<model::LaneId, model::DeviceId> deviceOf;
  for (const auto& [own, id] : recogniser.devices().lanes())
    if (const LaneRows& lane = lanes[static_cast<std::size_t>(id.value)];
        trace.isAccelerator(trace.tables.threads[own.thread].process))
      deviceOf[lane.lane] = lane.device;
  return flows.write(recorder(), deviceOf);
}

base::Status ProfileRows::add(TraceData& trace, Recogniser& recogniser, const std::string& devicePrefix,
                              const TraceClock& clock, base::Executor* executor, base::Progress& progress) {
  TraceRows rows(*this, trace, recogniser, devicePrefix, clock);
  if (const auto ranks = trace.ranksOfRun()) {
    ++ranks_;
    ranksOfRun_ = std::max(ranksOfRun_, *ranks);
  }
  const std::int64_t before = slices_;
  const auto take = [&](const Slice& slice, const TraceEvent& event) -> base::Status {
    PIPESCOPE_TRY(goesOn(progress, slices_ - before, trace.events.size(), "arranging", trace.name));
    return rows.slice(slice, event);
  };
  PIPESCOPE_TRY(visitSlices(
      trace, trace.tables.findings, take, [&rows](const TraceEvent& event) { rows.counter(event); },
      [&rows](const TraceEvent& event, std::size_t level) { return rows.flow(event, level); },
      rules_.usesAnnotations(), executor));
  for (const auto& [own, id] : recogniser.devices().lanes())
    PIPESCOPE_TRY(rows.flush(rows.lanes[static_cast<std::size_t>(id.value)]));
  rows.finish();
  return rows.pairFlows();
}

void ProfileRows::addInferred() {
  const auto note = [&](std::string text) {
    recorder_.add(model::Diagnostic{model::Severity::info, "inferred", std::move(text), {}, {}});
  };
  const PassCoverage& coverage = passes_.coverage();
  if (launchesOnly_ > 0)
    note(fmt::format(
        "{} passes are marked on a host whose times are those of launches, and the trace does not tell which "
        "kernels of an accelerator they launch (args.correlation), so they are left out.",
        launchesOnly_));
  if (coverage.proposedPasses > 0)
    note(fmt::format(
        "No rule recognises passes, so {} passes and their stages are proposed from the sends and "
        "receives of the ranks and from the operators of the backward pass between them: they are "
        "inferred. Name the passes with --rules to be sure.",
        coverage.proposedPasses));
  else if (coverage.inferredStages > 0)
    note(
        fmt::format("The stages of {} passes are inferred from the messages between the ranks and from the "
                    "order of the ranks, because the trace does not state them.",
                    coverage.inferredStages));
  if (coverage.inferredSteps > 1)
    note(
        fmt::format("The trace marks no training steps. {} steps are inferred: between them each device has "
                    "computed as many "
                    "backward as forward passes, and all devices are idle.",
                    coverage.inferredSteps));
  if (coverage.stepsUnknown)
    note(
        "The trace marks no training steps, and its passes do not tell them: it begins or ends within a "
        "step, or no "
        "pause of all devices divides the steps. Figures of steps are left out. Mark the steps, or name them "
        "with "
        "--rules (marks = \"step\").");
  if (coverage.unplacedPasses > 0)
    note(
        fmt::format("The stages of {} passes are not known, because the trace does not state them and the "
                    "traces of ranks "
                    "that exchange messages with the recorded ones are missing: import the traces of all "
                    "ranks of a replica "
                    "together, or state the stages with --rules.",
                    coverage.unplacedPasses));
  if (coverage.inferredChunks > 0)
    note(fmt::format(
        "The chunks of the model of {} passes are inferred from the numbers of passes and messages, because "
        "the trace does not state them.",
        coverage.inferredChunks));
  if (coverage.dividedPasses > 0)
    note(
        fmt::format("{} passes share the time of one event with another pass. It is divided in the ratio of "
                    "the mean lengths "
                    "that these passes have alone, which is inferred.",
                    coverage.dividedPasses));
  if (coverage.leftOutMessages > 0)
    note(
        fmt::format("The traces hold {} sends and receives, which are too many to relate them to passes: "
                    "waits are told by the "
                    "ends of passes alone. Import fewer ranks with --ranks, or a shorter trace.",
                    coverage.leftOutMessages));
  if (coverage.inferredMessages > 0)
    note(fmt::format(
        "The passes of {} sends and receives are inferred from the passes before and behind them, "
        "because the trace does not state them.",
        coverage.inferredMessages));
}

base::Status ProfileRows::end(const std::string& source, Picoseconds zero) {
  passes_.splitThreads([&](const std::string& name, model::DeviceId process) {
    return addDevice(name, "process", passes_.clockGroupOf(process));
  });
  PIPESCOPE_TRY(passes_.write(recorder_));
  addInferred();
  recorder_.add(model::Property{"tool_version", base::version()});
  recorder_.add(model::Property{"imported_from", source});
  recorder_.add(model::Property{"times", "recorded by another tool"});
  const PassCoverage& coverage = passes_.coverage();
  const std::pair<const char*, std::int64_t> counts[] = {
      {"coverage_slices", slices_},
      {"coverage_recognised_slices", recognised_},
      {"coverage_ranks", ranks_},
      {"coverage_ranks_of_run", ranksOfRun_},
      {"coverage_messages", coverage.messages},
      {"coverage_paired_messages", coverage.pairedMessages},
      {"coverage_inferred_messages", coverage.inferredMessages + coverage.leftOutMessages},
      {"coverage_inferred_stages", coverage.inferredStages},
      {"coverage_collectives", coverage.collectives},
      {"coverage_matched_collectives", coverage.matchedCollectives}};
  for (const auto& [key, count] : counts) recorder_.add(model::Property{key, std::to_string(count)});
  recorder_.add(model::Property{"trace_zero_picoseconds", fmt::format("{}", zero)});
  recorder_.add(model::Target{"imported", "imported", "a trace that another tool recorded", devices_,
                              passes_.devicesWithStage(), model::TickMeaning::time});
  model::Run run;
  run.executable = kExecutable;
  run.name = "trace";
  run.end = last_;
  recorder_.add(run);
  return {};
}

}  // namespace pipescope::importing
