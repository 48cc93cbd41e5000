#include "profiler/export/trace_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace pipescope::exporting {
namespace {

using base::Ticks;

constexpr int kPassRank = 0, kLaneRank = 1, kSendRank = 2;

void addCycle(std::int32_t slot, TraceSlice& to) {
  if (slot >= 0) to.facts.emplace_back("pipeline_cycle", slot);
}

void addWork(const EventWork::Work& work, TraceSlice& to) {
  if (work.flops > 0) to.facts.emplace_back("flops", work.flops);
  if (work.bytes > 0) to.facts.emplace_back("operand_bytes", work.bytes);
}

}  // namespace

base::Status TraceEvents::read(std::int64_t mostTransfers) {
  PIPESCOPE_TRY(work_.read(rows_));
  PIPESCOPE_TRY(readSteps());
  PIPESCOPE_TRY(readTransfers(mostTransfers));
  PIPESCOPE_TRY(readAwaited());
  PIPESCOPE_ASSIGN(WantedRows::Host host, rows_.host());
  host_.emplace(std::move(host));
  return {};
}

base::Result<std::int64_t> TraceEvents::size() const {
  std::int64_t events = static_cast<std::int64_t>(transfers_.size()) * 4 + host_->size();
  PIPESCOPE_TRY(rows_.each<model::Placement>([&](const model::Placement& row) {
    if (wantedSegment(row) == nullptr) return base::Status();
    const auto found = steps_.find(row.segment);
    events += 1 + (found == steps_.end() ? 0 : static_cast<std::int64_t>(found->second.size()));
    return base::Status();
  }));
  return events;
}

base::Status TraceEvents::write(TraceSink& sink) {
  PIPESCOPE_TRY(processes(sink));
  PIPESCOPE_TRY(
      rows_.each<model::Placement>([&](const model::Placement& row) { return placement(sink, row); }));
  for (const model::Transfer& row : transfers_) PIPESCOPE_TRY(transfer(sink, row));
  PIPESCOPE_TRY(rows_.each<model::Wait>([&](const model::Wait& row) { return wait(sink, row); }));
  PIPESCOPE_TRY(counters(sink));
  return hostParts(sink);
}

/// The placement's segment if the placement belongs to the export; otherwise null.
const model::Segment* TraceEvents::wantedSegment(const model::Placement& row) const {
  const model::Segment* segment = catalog_.segments.find(row.segment);
  if (segment == nullptr || row.end < row.start) return nullptr;
  return segment->executable == request_.executable && rows_.has(row.run) ? segment : nullptr;
}

base::Status TraceEvents::readSteps() {
  if (!request_.steps) return {};
  PIPESCOPE_TRY(rows_.each<model::Step>([&](const model::Step& row) {
    steps_[row.segment].push_back(row);
    return base::Status();
  }));
  for (const auto& [id, steps] : steps_)
    if (const model::Segment* segment = catalog_.segments.find(id)) work_.addSteps(*segment, steps);
  return {};
}

/// Sorts the transfers by start, so that overlapping ones can get tracks of their own.
base::Status TraceEvents::readTransfers(std::int64_t most) {
  PIPESCOPE_TRY(rows_.each<model::Transfer>([&](const model::Transfer& row) -> base::Status {
    if (static_cast<std::int64_t>(transfers_.size()) > most) return {};
    if (!rows_.has(row.run) || row.end < row.start || !clockOf(row).valid()) return {};
    if (!launches_.take(catalog_, row)) transfers_.push_back(row);
    return {};
  }));
  std::stable_sort(transfers_.begin(), transfers_.end(), [&](const auto& a, const auto& b) {
    return picoseconds(a.start, clockOf(a)) < picoseconds(b.start, clockOf(b));
  });
  return {};
}

base::Status TraceEvents::processes(TraceSink& sink) const {
  for (const model::Device& device : catalog_.devices)
    PIPESCOPE_TRY(sink.process(processOf(device.id),
                               device.name + (catalog_.measured() ? "" : " (emulated " + device.kind + ")")));
  std::set<model::DeviceId> hosts;
  for (const model::Lane& lane : catalog_.lanes)
    if (isLaneOfHost(catalog_, &lane) && hosts.insert(lane.device).second)
      PIPESCOPE_TRY(sink.process(processOfLane(lane.id), nameOfDevice(lane.device) + kHostOfAccelerator));
  if (host_->size() > 0 || std::any_of(catalog_.lanes.begin(), catalog_.lanes.end(),
                                       [](const auto& lane) { return !lane.device.valid(); }))
    PIPESCOPE_TRY(sink.process(processOf({}), "host"));
  return {};
}

/// The number of a track of a process, by its name. Numbers are unique in the file because some readers look
/// at nothing else. A track never has a process's number, because some readers take such a thread for the
/// main one.
base::Result<std::int64_t> TraceEvents::track(TraceSink& sink, std::int64_t process, const std::string& name,
                                              int rank) {
  const std::int64_t next = 2 * processOf({}) + static_cast<std::int64_t>(tracks_.size());
  const auto [place, added] = tracks_.try_emplace({process, name}, next);
  if (added) PIPESCOPE_TRY(sink.track(place->second, process, name, rank));
  return place->second;
}

/// Slices of a track must not overlap, so an overlapping slice goes to another track.
base::Result<std::int64_t> TraceEvents::freeTrack(TraceSink& sink, std::int64_t process,
                                                  const std::string& name, int rank, Picoseconds start,
                                                  Picoseconds end) {
  std::vector<Picoseconds>& ends = reached_[{process, name}];
  std::size_t place = 0;
  while (place < ends.size() && ends[place] > start) ++place;
  if (place == ends.size()) ends.push_back(end);
  ends[place] = end;
  return track(sink, process, place == 0 ? name : fmt::format("{} ({})", name, place + 1), rank);
}

/// The process of a device; of the host for no device.
std::int64_t TraceEvents::processOf(model::DeviceId device) const {
  return (device.valid() ? device.value : static_cast<std::int64_t>(catalog_.devices.size())) + 1;
}

/// The process in which the steps of a lane stand.
std::int64_t TraceEvents::processOfLane(model::LaneId id) const {
  const model::DeviceId device = catalog_.deviceOf(id);
  return isLaneOfHost(catalog_, catalog_.lanes.find(id)) ? processOf({}) + processOf(device)
                                                         : processOf(device);
}

/// The device whose ticks the transfer's times are.
model::DeviceId TraceEvents::clockOf(const model::Transfer& row) const {
  const model::DeviceId from = catalog_.deviceOf(row.fromLane);
  return from.valid() ? from : catalog_.deviceOf(row.toLane);
}

std::string TraceEvents::nameOfDevice(model::DeviceId device) const {
  const model::Device* row = catalog_.device(device);
  return row == nullptr ? "host" : row->name;
}

std::string TraceEvents::roleNameOf(model::LaneId lane) const {
  const model::Lane* row = catalog_.lanes.find(lane);
  return row == nullptr ? "unknown" : model::laneKey(row->role);
}

/// The track of a lane's steps. Lanes of a recorded run have names that tell more than their roles do.
std::string TraceEvents::trackNameOf(model::LaneId lane) const {
  const model::Lane* row = catalog_.lanes.find(lane);
  if (row == nullptr || !catalog_.measured()) return roleNameOf(lane);
  return row->name == "passes" ? "recorded passes" : row->name;
}

const std::string& TraceEvents::nameOf(model::ProgramId id, model::StepKind kind) {
  const auto [place, added] = names_.try_emplace(id.value);
  if (!added) return place->second;
  if (catalog_.programs.contains(id)) {
    const model::Program program = catalog_.programs[id];
    place->second = catalog_.namePath(program.debugContext);
    if (place->second.empty()) place->second = program.kind;
  }
  if (place->second.empty()) place->second = model::toString(kind);
  return place->second;
}

Picoseconds TraceEvents::picoseconds(Ticks ticks, model::DeviceId device) const {
  const std::int64_t clock = std::max<std::int64_t>(catalog_.timebase(device).ticksPerSecond, 1);
  return static_cast<Picoseconds>(ticks.count) * 1'000'000'000'000 / clock;
}

base::Status TraceEvents::placement(TraceSink& sink, const model::Placement& row) {
  const model::Segment* segment = wantedSegment(row);
  if (segment == nullptr) return {};
  // Recorded work that belongs to no pass is shown by its steps alone.
  const bool withoutPass = catalog_.measured() && row.pass == model::Pass::other && row.stage < 0;
  if (!withoutPass) PIPESCOPE_TRY(pass(sink, row, *segment));
  return steps(sink, row, *segment, withoutPass);
}

base::Status TraceEvents::pass(TraceSink& sink, const model::Placement& row, const model::Segment& segment) {
  TraceSlice made;
  made.process = processOf(row.device);
  made.name = model::toString(row.pass);
  if (row.microBatch >= 0) made.name += " " + std::to_string(row.microBatch);
  made.category = catalog_.measured() ? "recorded pass" : "pass";
  made.start = picoseconds(row.start, row.device);
  made.end = picoseconds(row.end, row.device);
  const std::string role = roleNameOf(segment.lane);
  PIPESCOPE_ASSIGN(made.track, freeTrack(sink, made.process, role == "compute" ? "passes" : "passes, " + role,
                                         kPassRank, made.start, made.end));
  made.facts = {{"stage", row.stage},
                {"micro_batch", row.microBatch},
                {"iteration", rows_.iterationOf(row)},
                {"run", row.run.value},
                {"replica", row.replica},
                {"placement", row.id.value},
                {"pass", model::toString(row.pass)}};
  addWork(work_.ofPass(segment), made);
  addCycle(row.slot, made);
  return sink.slice(made);
}

base::Status TraceEvents::steps(TraceSink& sink, const model::Placement& row, const model::Segment& segment,
                                bool withoutPass) {
  const auto found = steps_.find(row.segment);
  if (found == steps_.end()) return {};
  for (std::size_t i = 0; i < found->second.size(); ++i) {
    const model::Step& step = found->second[i];
    const Ticks start = row.start + step.offset;
    TraceSlice made;
    made.process =
        catalog_.deviceOf(step.lane) == row.device ? processOfLane(step.lane) : processOf(row.device);
    PIPESCOPE_ASSIGN(made.track, track(sink, made.process, trackNameOf(step.lane), kLaneRank));
    made.name = nameOf(step.program, step.kind);
    made.category = categoryOf(catalog_, step);
    made.start = picoseconds(start, row.device);
    made.end = picoseconds(start + step.ticks, row.device);
    made.facts = {{"cycles", step.ticks.count}, {"active_units", step.activeUnits}};
    if (const std::int64_t number = launches_.numberOf(step.lane, start); number > 0)
      made.facts.emplace_back("correlation", number);
    if (!withoutPass && !catalog_.measured()) {  // for people: which pass the step belongs to
      made.facts.emplace_back("placement", row.id.value);
      made.facts.emplace_back("pass", model::toString(row.pass));
      if (row.stage >= 0) made.facts.emplace_back("stage", row.stage);
      if (row.microBatch >= 0) made.facts.emplace_back("micro_batch", row.microBatch);
    }
    if (step.bytesIn.count > 0) made.facts.emplace_back("bytes_in", step.bytesIn.count);
    if (step.bytesOut.count > 0) made.facts.emplace_back("bytes_out", step.bytesOut.count);
    const EventWork::StepWork work = work_.ofStep(segment, i, work_.operatorOf(step.program));
    if (!work.kind.empty()) made.facts.emplace_back("operator", std::string(work.kind));
    if (!work.block.empty()) made.facts.emplace_back("block", std::string(work.block));
    if (work.collective != nullptr) {
      made.facts.emplace_back("collective", work.collective->kind);
      made.facts.emplace_back("axis", model::toString(work.collective->axis));
      made.facts.emplace_back("ranks", work.collective->ranks);
    }
    addWork(work.work, made);
    PIPESCOPE_TRY(sink.slice(made));
  }
  return {};
}

/// Makes a slice at the sender and a slice at the receiver, which a flow connects.
base::Status TraceEvents::transfer(TraceSink& sink, const model::Transfer& row) {
  const model::DeviceId ends[] = {catalog_.deviceOf(row.fromLane), catalog_.deviceOf(row.toLane)},
                        clock = clockOf(row);
  TraceSlice made;
  made.name = model::toString(row.kind);
  made.category = catalog_.measured() ? "recorded transfer" : "transfer";
  made.start = picoseconds(row.start, clock);
  made.end = picoseconds(row.end, clock);
  made.facts = {{"bytes", row.bytes.count}, {"micro_batch", row.microBatch}};
  // Stages send each other activations and gradients.
  if (row.kind == model::TransferKind::activation || row.kind == model::TransferKind::gradient)
    made.facts.emplace_back("axis", model::toString(model::MeshAxis::pipe));
  if (row.iteration >= 0) made.facts.emplace_back("iteration", rows_.iterationOf(row));
  addCycle(row.slot, made);
  if (ends[0].valid() && ends[1].valid()) made.flow = row.id.value;
  for (const int side : {0, 1}) {
    if (!ends[side].valid()) continue;
    made.process = processOf(ends[side]);
    made.flowEnds = side == 1;
    PIPESCOPE_ASSIGN(made.track, freeTrack(sink, made.process,
                                           (side == 0 ? "to " : "from ") + nameOfDevice(ends[1 - side]),
                                           kSendRank + side, made.start, made.end));
    PIPESCOPE_TRY(sink.slice(made));
  }
  return {};
}

base::Status TraceEvents::wait(TraceSink& sink, const model::Wait& row) {
  if (!rows_.has(row.run) || row.end <= row.start || catalog_.device(row.device) == nullptr) return {};
  TraceSlice made;
  made.process = processOf(row.device);
  PIPESCOPE_ASSIGN(made.track, track(sink, made.process, "waits", kPassRank));
  made.name = model::toString(row.cause);
  made.category = "wait";
  made.start = picoseconds(row.start, row.device);
  made.end = picoseconds(row.end, row.device);
  made.facts = {{"stage", row.stage}, {"iteration", rows_.iterationOf(row)}};
  if (const std::optional<model::MeshAxis> axis = axisOf(row))
    made.facts.emplace_back("axis", model::toString(*axis));
  if (row.waitedForDevice.valid()) made.facts.emplace_back("waits_for_pid", processOf(row.waitedForDevice));
  if (row.waitedFor.valid()) made.facts.emplace_back("waits_for", row.waitedFor.value);
  addCycle(row.slot, made);
  return sink.slice(made);
}

base::Status TraceEvents::readAwaited() {
  if (catalog_.measured()) return {};
  axes_.emplace(catalog_, request_.executable);
  PIPESCOPE_TRY(rows_.each<model::Wait>([&](const model::Wait& row) {
    if (row.cause == model::WaitCause::collective && row.waitedFor.valid() && rows_.has(row.run))
      awaited_.try_emplace(row.waitedFor);
    return base::Status();
  }));
  if (awaited_.empty()) return {};
  return rows_.each<model::Placement>([&](const model::Placement& row) {
    held_.emplace(row.device, row.stage);
    if (const auto found = awaited_.find(row.id); found != awaited_.end())
      found->second = {row.device, row.stage, row.pass, row.segment};
    return base::Status();
  });
}

/// The axis of the mesh along which chips exchange what a wait is for; none: it is for something else.
std::optional<model::MeshAxis> TraceEvents::axisOf(const model::Wait& row) const {
  if (!axes_) return std::nullopt;
  if (row.cause == model::WaitCause::exchange) return model::MeshAxis::pipe;
  const auto found = awaited_.find(row.waitedFor);
  return axes_->of(row, found == awaited_.end() ? nullptr : &found->second, [&](int stage) {
    return held_.contains({row.device, stage});
  });
}

base::Status TraceEvents::counters(TraceSink& sink) {
  return rows_.eachCounterSample([&](const model::Counter& counter, const model::CounterSample& row,
                                     model::DeviceId device) -> base::Status {
    const std::int64_t process = processOf(device),
                       next = 2 * processOf({}) + static_cast<std::int64_t>(tracks_.size());
    const auto [place, added] = tracks_.try_emplace({process, counter.name}, next);
    if (added) PIPESCOPE_TRY(sink.counterTrack(next, process, counter.name));
    return sink.counter(place->second, process, counter.name, picoseconds(row.time, device), row.value);
  });
}

/// Adds what the host did, beside the calls that it waited for. Events have a track of their own, because
/// some readers want the slices of a track in order of time. The wall times are among the facts.
base::Status TraceEvents::hostParts(TraceSink& sink) {
  return WantedRows::eachHostPart(*host_, [&](const WantedRows::HostPart& part) -> base::Status {
    TraceSlice made;
    made.process = processOf({});
    PIPESCOPE_ASSIGN(made.track,
                     track(sink, made.process, part.lane + (part.isEvent ? ", events" : ""), kPassRank));
    made.name = part.words.name;
    made.category = part.words.channel;
    made.start = picoseconds(part.start, {});
    made.end = picoseconds(part.end, {});
    made.facts = {{"wall_start_ns", part.wallStart.count},
                  {"wall_ns", (part.wallEnd - part.wallStart).count}};
    return sink.slice(made);
  });
}

}  // namespace pipescope::exporting
