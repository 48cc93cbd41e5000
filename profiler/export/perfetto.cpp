#include "profiler/export/perfetto.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "perfetto.pb.h"
#include "profiler/export/event_work.h"
#include "profiler/export/gzip.h"
#include "profiler/export/recorded_work.h"
#include "profiler/export/wanted_rows.h"

namespace pipescope::exporting {
namespace {

namespace perfetto_wire = formats::perfetto;
using base::Ticks;

__extension__ using WideTicks = __int128;  // products of ticks and clocks
constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;
constexpr std::uint32_t kOurSequence = 1;

class PerfettoFile {
 public:
  PerfettoFile(const ChromeRequest& request, const Writer& write, base::Progress& progress)
      : request_(request),
        catalog_(request.catalog),
        write_(write),
        rows_(request, progress),
        work_(request) {}

  base::Status run() {
    PIPESCOPE_ASSIGN(const WantedRows::Host host, rows_.host());
    PIPESCOPE_TRY(begin(host.size() > 0));
    PIPESCOPE_TRY(work_.read(rows_));
    PIPESCOPE_TRY(readSteps());
    PIPESCOPE_TRY(readTransfers());
    PIPESCOPE_TRY(rows_.each<model::Placement>([&](const model::Placement& row) { return placement(row); }));
    PIPESCOPE_TRY(transfers());
    PIPESCOPE_TRY(rows_.each<model::Wait>([&](const model::Wait& row) { return wait(row); }));
    PIPESCOPE_TRY(counters());
    PIPESCOPE_TRY(hostSpans(host));
    return flush(0);
  }

 private:
  base::Status flush(std::size_t above) {
    if (buffer_.size() <= above) return {};
    PIPESCOPE_TRY(write_(buffer_));
    buffer_.clear();
    return {};
  }

  base::Status add(perfetto_wire::TracePacket& packet) {
    append(packet, buffer_);
    return flush(std::size_t{1} << 20);
  }

  void append(perfetto_wire::TracePacket& packet, std::string& to) {
    packet.set_trusted_packet_sequence_id(kOurSequence);
    packet.SerializeToString(&packed_);
    to += '\x0A';
    for (std::size_t size = packed_.size();; size >>= 7U) {
      if (size < 0x80) {
        to += static_cast<char>(size);
        break;
      }
      to += static_cast<char>((size & 0x7FU) | 0x80U);
    }
    to += packed_;
  }

  /// The first packet begins the sequence; then come the processes.
  base::Status begin(bool hasHostSpans) {
    perfetto_wire::TracePacket packet;
    packet.set_incremental_state_cleared(true);
    packet.set_sequence_flags(1);
    PIPESCOPE_TRY(add(packet));
    for (std::int64_t i = 0; i <= static_cast<std::int64_t>(catalog_.devices.size()); ++i) {
      const bool host = i == static_cast<std::int64_t>(catalog_.devices.size());
      if (host && !hasHostSpans &&
          std::none_of(catalog_.lanes.begin(), catalog_.lanes.end(),
                       [](const model::Lane& lane) { return !lane.device.valid(); }))
        break;
      const std::string name = host ? "host" : catalog_.devices[model::DeviceId(i)].name;
      PIPESCOPE_TRY(process(processTrack(host ? model::DeviceId() : model::DeviceId(i)),
                            catalog_.measured() || host ? name : name + " (emulated)"));
    }
    std::set<std::uint64_t> hosts;
    for (const model::Lane& lane : catalog_.lanes)
      if (isLaneOfHost(catalog_, &lane) && hosts.insert(processOfLane(lane.id)).second)
        PIPESCOPE_TRY(
            process(processOfLane(lane.id), catalog_.devices[lane.device].name + kHostOfAccelerator));
    return {};
  }

  base::Status process(std::uint64_t track, const std::string& name) {
    perfetto_wire::TracePacket packet;
    perfetto_wire::TrackDescriptor& descriptor = *packet.mutable_track_descriptor();
    descriptor.set_uuid(track);
    descriptor.mutable_process()->set_pid(static_cast<std::int32_t>(track));
    descriptor.mutable_process()->set_process_name(name);
    return add(packet);
  }

  /// The process in which the steps of a lane stand.
  std::uint64_t processOfLane(model::LaneId id) const {
    const model::DeviceId device = catalog_.deviceOf(id);
    return isLaneOfHost(catalog_, catalog_.lanes.find(id)) ? processTrack({}) + processTrack(device)
                                                           : processTrack(device);
  }

  std::uint64_t processTrack(model::DeviceId device) const {
    return static_cast<std::uint64_t>(device.valid() ? device.value
                                                     : static_cast<std::int64_t>(catalog_.devices.size())) +
           1;
  }

  /// The track of a device with that name, which is described at its first use.
  base::Result<std::uint64_t> track(model::DeviceId device, const std::string& name, bool counter = false) {
    return trackOf(processTrack(device), name, counter);
  }
  base::Result<std::uint64_t> trackOf(std::uint64_t process, const std::string& name, bool counter = false) {
    const auto [place, isNew] = tracks_.try_emplace({process, name}, firstTrack() + tracks_.size());
    if (!isNew) return place->second;
    perfetto_wire::TracePacket packet;
    perfetto_wire::TrackDescriptor& descriptor = *packet.mutable_track_descriptor();
    descriptor.set_uuid(place->second);
    descriptor.set_parent_uuid(process);
    descriptor.set_name(name);
    if (counter) descriptor.mutable_counter();
    PIPESCOPE_TRY(add(packet));
    return place->second;
  }
  std::uint64_t firstTrack() const { return 2 * processTrack({}) + 1; }

  /// Slices of a track must not overlap, so an overlapping slice goes to another track.
  base::Result<std::uint64_t> freeTrack(model::DeviceId device, const std::string& name, std::int64_t start,
                                        std::int64_t end) {
    std::vector<std::int64_t>& ends = reached_[{device.value, name}];
    std::size_t place = 0;
    while (place < ends.size() && ends[place] > start) ++place;
    if (place == ends.size()) ends.push_back(end);
    ends[place] = end;
    return track(device, place == 0 ? name : fmt::format("{} ({})", name, place + 1));
  }

  std::int64_t nanoseconds(Ticks ticks, model::DeviceId device) const {
    const std::int64_t clock = std::max<std::int64_t>(catalog_.timebase(device).ticksPerSecond, 1);
    return static_cast<std::int64_t>(
        (static_cast<WideTicks>(ticks.count) * kNanosecondsPerSecond + clock / 2) / clock);
  }

  /// The number of a text, which the packet states at the text's first use.
  std::uint64_t intern(std::unordered_map<std::string, std::uint64_t>& known, const std::string& text,
                       google::protobuf::RepeatedPtrField<perfetto_wire::InternedString>* stated) {
    const auto [place, isNew] = known.try_emplace(text, known.size() + 1);
    if (isNew) {
      perfetto_wire::InternedString& entry = *stated->Add();
      entry.set_iid(place->second);
      entry.set_name(text);
    }
    return place->second;
  }

  std::uint64_t internValue(const std::string& text, perfetto_wire::InternedData& stated) {
    const auto [place, isNew] = values_.try_emplace(text, values_.size() + 1);
    if (isNew) {
      perfetto_wire::InternedBytes& entry = *stated.add_debug_annotation_string_values();
      entry.set_iid(place->second);
      entry.set_str(text);
    }
    return place->second;
  }

  struct Slice {
    std::uint64_t track = 0;
    std::string name, category;
    std::int64_t start = 0, end = 0;
    std::vector<std::pair<std::string, std::int64_t>> annotations = {};
    std::vector<std::pair<std::string, std::string>> texts = {};  // annotations, too
    std::uint64_t flow = 0;                                       // 0: none
    bool flowEnds = false;
  };

  base::Status slice(const Slice& of) {
    perfetto_wire::TracePacket packet;
    packet.set_timestamp(static_cast<std::uint64_t>(std::max<std::int64_t>(of.start, 0)));
    perfetto_wire::TrackEvent& event = *packet.mutable_track_event();
    event.set_type(perfetto_wire::TrackEvent::SLICE_BEGIN);
    event.set_track_uuid(of.track);
    perfetto_wire::InternedData stated;
    event.set_name_iid(intern(names_, of.name, stated.mutable_event_names()));
    event.add_category_iids(intern(categories_, of.category, stated.mutable_event_categories()));
    for (const auto& [name, value] : of.annotations) {
      perfetto_wire::DebugAnnotation& annotation = *event.add_debug_annotations();
      annotation.set_name_iid(intern(annotations_, name, stated.mutable_debug_annotation_names()));
      annotation.set_int_value(value);
    }
    for (const auto& [name, text] : of.texts) {
      perfetto_wire::DebugAnnotation& annotation = *event.add_debug_annotations();
      annotation.set_name_iid(intern(annotations_, name, stated.mutable_debug_annotation_names()));
      annotation.set_string_value_iid(internValue(text, stated));
    }
    if (of.flow != 0) of.flowEnds ? event.add_terminating_flow_ids(of.flow) : event.add_flow_ids(of.flow);
    if (stated.event_names_size() + stated.event_categories_size() + stated.debug_annotation_names_size() +
            stated.debug_annotation_string_values_size() >
        0)
      *packet.mutable_interned_data() = stated;
    PIPESCOPE_TRY(add(packet));
    perfetto_wire::TracePacket close;
    close.set_timestamp(static_cast<std::uint64_t>(std::max(of.end, std::max<std::int64_t>(of.start, 0))));
    close.mutable_track_event()->set_type(perfetto_wire::TrackEvent::SLICE_END);
    close.mutable_track_event()->set_track_uuid(of.track);
    return add(close);
  }

  static void addCycle(std::int32_t slot, Slice& to) {
    if (slot >= 0) to.annotations.emplace_back("pipeline_cycle", slot);
  }

  /// Says for people which pass a step belongs to.
  static void addPass(const model::Placement& row, Slice& to) {
    to.annotations.emplace_back("placement", row.id.value);
    to.texts.emplace_back("pass", model::toString(row.pass));
    if (row.stage >= 0) to.annotations.emplace_back("stage", row.stage);
    if (row.microBatch >= 0) to.annotations.emplace_back("micro_batch", row.microBatch);
  }
  static void addWork(const EventWork::Work& work, Slice& to) {
    if (work.flops > 0) to.annotations.emplace_back("flops", work.flops);
    if (work.bytes > 0) to.annotations.emplace_back("operand_bytes", work.bytes);
  }

  base::Status readSteps() {
    if (!request_.steps) return {};
    PIPESCOPE_TRY(rows_.each<model::Step>([&](const model::Step& row) {
      steps_[row.segment].push_back(row);
      return base::Status();
    }));
    for (const auto& [id, steps] : steps_)
      if (const model::Segment* segment = catalog_.segments.find(id)) work_.addSteps(*segment, steps);
    return {};
  }

  base::Status placement(const model::Placement& row) {
    const model::Segment* segment = catalog_.segments.find(row.segment);
    if (segment == nullptr || row.end < row.start || segment->executable != request_.executable ||
        !rows_.has(row.run))
      return {};
    const std::int64_t start = nanoseconds(row.start, row.device), end = nanoseconds(row.end, row.device);
    // Recorded work that belongs to no pass is shown by its steps alone.
    const bool beside = row.pass == model::Pass::other && row.stage < 0;
    if (!beside) {
      const model::Lane* lane = catalog_.lanes.find(segment->lane);
      const bool computes = lane == nullptr || lane->role == model::LaneRole::compute;
      PIPESCOPE_ASSIGN(
          const std::uint64_t passes,
          freeTrack(row.device, computes ? "passes" : "passes, " + model::laneKey(lane->role), start, end));
      const std::string name = row.microBatch < 0
                                   ? model::toString(row.pass)
                                   : fmt::format("{} {}", model::toString(row.pass), row.microBatch);
      Slice made{passes,
                 name,
                 catalog_.measured() ? "recorded pass" : "pass",
                 start,
                 end,
                 {{"stage", row.stage},
                  {"micro_batch", row.microBatch},
                  {"iteration", rows_.iterationOf(row)},
                  {"replica", row.replica},
                  {"placement", row.id.value}}};
      addCycle(row.slot, made);
      made.texts = {{"pass", model::toString(row.pass)}};
      addWork(work_.ofPass(*segment), made);
      PIPESCOPE_TRY(slice(made));
    }
    const auto found = steps_.find(row.segment);
    if (found == steps_.end()) return {};
    for (std::size_t i = 0; i < found->second.size(); ++i) {
      const model::Step& step = found->second[i];
      const Ticks from = row.start + step.offset;
      const model::Lane* lane = catalog_.lanes.find(step.lane);
      const std::uint64_t process =
          catalog_.deviceOf(step.lane) == row.device ? processOfLane(step.lane) : processTrack(row.device);
      PIPESCOPE_ASSIGN(const std::uint64_t own, trackOf(process, laneTrack(lane)));
      Slice made{own, nameOf(step.program, step.kind), categoryOf(catalog_, step),
                 nanoseconds(from, row.device), nanoseconds(from + step.ticks, row.device)};
      if (const std::int64_t number = launches_.numberOf(step.lane, from); number > 0)
        made.annotations.emplace_back("correlation", number);
      if (!beside && !catalog_.measured()) addPass(row, made);
      if (step.bytesIn.count > 0) made.annotations.emplace_back("bytes_in", step.bytesIn.count);
      if (step.bytesOut.count > 0) made.annotations.emplace_back("bytes_out", step.bytesOut.count);
      const EventWork::StepWork work = work_.ofStep(*segment, i, work_.operatorOf(step.program));
      if (!work.kind.empty()) made.texts.emplace_back("operator", work.kind);
      if (!work.block.empty()) made.texts.emplace_back("block", work.block);
      addWork(work.work, made);
      PIPESCOPE_TRY(slice(made));
    }
    return {};
  }

  /// Passes have a track of their own, and so have the steps of a recorded run's lane of that name.
  static std::string laneTrack(const model::Lane* lane) {
    if (lane == nullptr) return "unknown";
    return lane->name == "passes" ? "recorded passes" : lane->name;
  }

  const std::string& nameOf(model::ProgramId id, model::StepKind kind) {
    const auto [place, added] = programNames_.try_emplace(id.value);
    if (!added) return place->second;
    if (catalog_.programs.contains(id)) {
      const model::Program program = catalog_.programs[id];
      place->second = catalog_.namePath(program.debugContext);
      if (place->second.empty()) place->second = program.kind;
    }
    if (place->second.empty()) place->second = model::toString(kind);
    return place->second;
  }

  base::Status readTransfers() {
    return rows_.each<model::Transfer>([&](const model::Transfer& row) {
      if (rows_.has(row.run) && row.end >= row.start && !launches_.take(catalog_, row))
        transfers_.push_back(row);
      return base::Status();
    });
  }

  base::Status wait(const model::Wait& row) {
    if (!rows_.has(row.run) || row.end <= row.start || catalog_.device(row.device) == nullptr) return {};
    PIPESCOPE_ASSIGN(const std::uint64_t own, track(row.device, "waits"));
    Slice made{own,
               model::toString(row.cause),
               "wait",
               nanoseconds(row.start, row.device),
               nanoseconds(row.end, row.device),
               {{"stage", row.stage}, {"iteration", rows_.iterationOf(row)}}};
    if (row.waitedForDevice.valid())
      made.annotations.emplace_back("waits_for_pid",
                                    static_cast<std::int64_t>(processTrack(row.waitedForDevice)));
    if (row.waitedFor.valid()) made.annotations.emplace_back("waits_for", row.waitedFor.value);
    addCycle(row.slot, made);
    return slice(made);
  }

  base::Status transfers() {
    std::vector<model::Transfer>& all = transfers_;
    const auto clockOf = [&](const model::Transfer& row) {
      const model::DeviceId from = catalog_.deviceOf(row.fromLane);
      return from.valid() ? from : catalog_.deviceOf(row.toLane);
    };
    std::stable_sort(all.begin(), all.end(), [&](const auto& a, const auto& b) {
      return nanoseconds(a.start, clockOf(a)) < nanoseconds(b.start, clockOf(b));
    });
    for (const model::Transfer& row : all) {
      const model::DeviceId from = catalog_.deviceOf(row.fromLane), to = catalog_.deviceOf(row.toLane);
      const std::int64_t start = nanoseconds(row.start, clockOf(row)),
                         end = nanoseconds(row.end, clockOf(row));
      const bool both = from.valid() && to.valid();
      for (const bool sends : {true, false}) {
        const model::DeviceId own = sends ? from : to, other = sends ? to : from;
        if (!own.valid()) continue;
        const std::string name =
            (sends ? "to " : "from ") + (other.valid() ? catalog_.devices[other].name : std::string("host"));
        PIPESCOPE_ASSIGN(const std::uint64_t place, freeTrack(own, name, start, end));
        Slice made{place,
                   model::toString(row.kind),
                   catalog_.measured() ? "recorded transfer" : "transfer",
                   start,
                   end,
                   {{"bytes", row.bytes.count}, {"micro_batch", row.microBatch}}};
        if (row.iteration >= 0) made.annotations.emplace_back("iteration", rows_.iterationOf(row));
        addCycle(row.slot, made);
        made.flow = both ? static_cast<std::uint64_t>(row.id.value) + 1 : 0;
        made.flowEnds = !sends;
        PIPESCOPE_TRY(slice(made));
      }
    }
    return {};
  }

  base::Status counters() {
    return rows_.eachCounterSample([&](const model::Counter& counter, const model::CounterSample& row,
                                       model::DeviceId device) -> base::Status {
      PIPESCOPE_ASSIGN(const std::uint64_t own, track(device, counter.name, true));
      perfetto_wire::TracePacket packet;
      packet.set_timestamp(
          static_cast<std::uint64_t>(std::max<std::int64_t>(nanoseconds(row.time, device), 0)));
      packet.mutable_track_event()->set_type(perfetto_wire::TrackEvent::COUNTER);
      packet.mutable_track_event()->set_track_uuid(own);
      packet.mutable_track_event()->set_double_counter_value(row.value);
      return add(packet);
    });
  }

  /// Adds what the host did, beside the calls that it waited for. Events have a track of their own, because
  /// slices of a track have to be in order of time.
  base::Status hostSpans(const WantedRows::Host& host) {
    return WantedRows::eachHostPart(host, [&](const WantedRows::HostPart& part) -> base::Status {
      PIPESCOPE_ASSIGN(const std::uint64_t own, track({}, part.lane + (part.isEvent ? ", events" : "")));
      return slice(
          {own,
           part.words.name,
           part.words.channel,
           nanoseconds(part.start, {}),
           nanoseconds(part.end, {}),
           {{"wall_start_ns", part.wallStart.count}, {"wall_ns", (part.wallEnd - part.wallStart).count}}});
    });
  }

  const ChromeRequest& request_;
  const analysis::Catalog& catalog_;
  const Writer& write_;
  WantedRows rows_;
  EventWork work_;
  std::string buffer_, packed_;
  std::unordered_map<model::SegmentId, std::vector<model::Step>> steps_;
  std::map<std::pair<std::uint64_t, std::string>, std::uint64_t> tracks_;  // keyed by process and name
  std::map<std::pair<std::int64_t, std::string>, std::vector<std::int64_t>> reached_;
  std::unordered_map<std::string, std::uint64_t> names_, categories_, annotations_, values_;
  std::unordered_map<std::int64_t, std::string> programNames_;
  std::vector<model::Transfer> transfers_;
  RecordedLaunches launches_;
};

}  // namespace

base::Status exportPerfetto(const ChromeRequest& request, const Writer& write, base::Progress& progress) {
  return PerfettoFile(request, write, progress).run();
}

}  // namespace pipescope::exporting
