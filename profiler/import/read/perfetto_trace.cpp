#include "profiler/import/read/trace_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <unordered_map>

#include "perfetto.pb.h"
#include "profiler/import/read/source/inflated_source.h"
#include "profiler/import/read/source/message_stream.h"
#include "profiler/import/read/source/text_mending.h"

namespace pipescope::importing {
namespace {

namespace perfetto_wire = formats::perfetto;

constexpr std::int64_t kPicosecondsPerNs = 1000, kPicosecondsPerLegacyUnit = 1'000'000;
constexpr Picoseconds kFarthestPacket = Picoseconds{std::numeric_limits<std::int64_t>::max()} / 2;
constexpr std::uint64_t kPacketTag = 0x0A;         // field 1, a block
constexpr std::uint32_t kFirstSequenceClock = 64;  // clocks below are the same for all sequences

/// State that a writer of packets has announced: interned texts, defaults and clocks.
struct PacketSequence {
  std::unordered_map<std::uint64_t, std::string> names, categories, annotations, values;
  std::uint64_t defaultTrack = 0;
  std::uint32_t defaultClock = 0;
  struct Clock {
    std::int64_t base = 0;  // trace time at which the clock shows `at`, in ns
    std::uint64_t at = 0, unit = 1, last = 0;
    bool incremental = false;
  };
  std::map<std::uint32_t, Clock> clocks;
  std::map<std::uint64_t, std::int64_t> counters;  // values of tracks that state differences

  void clear() {
    names.clear();
    categories.clear();
    annotations.clear();
    values.clear();
    defaultTrack = 0;
    defaultClock = 0;
    counters.clear();
  }
};

struct PerfettoTrack {
  ThreadId thread;
  std::string counter;   // name of the counter; empty: none
  std::string unitName;  // empty: not stated
  std::int64_t unit = 1;
  bool incremental = false;
};

class PerfettoReader {
 public:
  explicit PerfettoReader(TraceData& data) : data_(data) {}

  base::Status take(const perfetto_wire::TracePacket& packet) {
    PacketSequence& sequence = sequences_[packet.trusted_packet_sequence_id()];
    if (packet.incremental_state_cleared() || (packet.sequence_flags() & 1U) != 0) sequence.clear();
    if (packet.has_interned_data()) intern(packet.interned_data(), sequence);
    if (packet.has_trace_packet_defaults()) {
      const perfetto_wire::TracePacketDefaults& defaults = packet.trace_packet_defaults();
      if (defaults.has_track_event_defaults())
        sequence.defaultTrack = defaults.track_event_defaults().track_uuid();
      if (defaults.has_timestamp_clock_id()) sequence.defaultClock = defaults.timestamp_clock_id();
    }
    if (packet.has_clock_snapshot()) takeClocks(packet.clock_snapshot(), sequence);
    if (packet.has_track_descriptor()) describe(packet.track_descriptor());
    if (packet.has_track_event()) return event(packet, sequence);
    return {};
  }

 private:
  static void intern(const perfetto_wire::InternedData& data, PacketSequence& sequence) {
    for (const auto& entry : data.event_names()) sequence.names[entry.iid()] = mended(entry.name());
    for (const auto& entry : data.event_categories()) sequence.categories[entry.iid()] = mended(entry.name());
    for (const auto& entry : data.debug_annotation_names()) sequence.annotations[entry.iid()] = entry.name();
    for (const auto& entry : data.debug_annotation_string_values())
      sequence.values[entry.iid()] = mended(entry.str());
  }

  static void takeClocks(const perfetto_wire::ClockSnapshot& snapshot, PacketSequence& sequence) {
    constexpr std::uint32_t kBootTime = 6;  // the clock of packets that name none
    const auto nanoseconds = [](std::uint64_t time) {
      return static_cast<std::int64_t>(
          std::min<std::uint64_t>(time, std::numeric_limits<std::int64_t>::max()));
    };
    std::int64_t base = 0;
    for (const auto& clock : snapshot.clocks())
      if (clock.clock_id() == kBootTime) base = nanoseconds(clock.timestamp());
    for (const auto& clock : snapshot.clocks()) {
      if (clock.clock_id() == kBootTime) continue;
      const std::uint64_t unit = std::max<std::uint64_t>(clock.unit_multiplier_ns(), 1);
      sequence.clocks[clock.clock_id()] = {base, clock.timestamp(), unit, clock.timestamp(),
                                           clock.is_incremental()};
    }
  }

  /// Time of the packet in nanoseconds of the trace's own clock.
  static Picoseconds timeOf(const perfetto_wire::TracePacket& packet, PacketSequence& sequence) {
    const std::uint32_t id =
        packet.has_timestamp_clock_id() ? packet.timestamp_clock_id() : sequence.defaultClock;
    const auto found = sequence.clocks.find(id);
    if (id < kFirstSequenceClock || found == sequence.clocks.end()) return packet.timestamp();
    PacketSequence::Clock& clock = found->second;
    const std::uint64_t shown = clock.incremental ? clock.last + packet.timestamp() : packet.timestamp();
    clock.last = shown;
    return Picoseconds{clock.base} + (Picoseconds{shown} - Picoseconds{clock.at}) * Picoseconds{clock.unit};
  }

  void describe(const perfetto_wire::TrackDescriptor& descriptor) {
    ProcessId process = processOf(descriptor.parent_uuid());
    std::string name = mended(descriptor.has_name() ? descriptor.name() : descriptor.static_name());
    if (descriptor.has_process()) {
      process = data_.tables.process(std::to_string(descriptor.process().pid()));
      TraceProcess& row = data_.tables.processes[process];
      if (row.name.empty()) row.name = mended(descriptor.process().process_name());
      if (row.name.empty()) row.name = name;
    } else if (descriptor.has_thread()) {
      process = data_.tables.process(std::to_string(descriptor.thread().pid()));
      if (name.empty()) name = mended(descriptor.thread().thread_name());
    }
    processes_[descriptor.uuid()] = process;
    PerfettoTrack& track = trackOf(descriptor.uuid());
    if (descriptor.has_counter()) {
      track.counter = name.empty() ? "counter" : name;
      track.unit = descriptor.counter().has_unit_multiplier() ? descriptor.counter().unit_multiplier() : 1;
      track.unitName = unitOf(descriptor.counter());
      track.incremental = descriptor.counter().is_incremental();
    }
    data_.tables.threads[track.thread].name = name;
  }

  ProcessId processOf(std::uint64_t track) {
    const auto found = processes_.find(track);
    return found == processes_.end() ? data_.tables.process("") : found->second;
  }

  PerfettoTrack& trackOf(std::uint64_t uuid) {
    PerfettoTrack& track = tracks_[uuid];
    if (!track.thread.valid()) track.thread = data_.tables.thread(processOf(uuid), fmt::format("{:x}", uuid));
    return track;
  }

  base::Status event(const perfetto_wire::TracePacket& packet, PacketSequence& sequence) {
    const perfetto_wire::TrackEvent& from = packet.track_event();
    const Picoseconds time = timeOf(packet, sequence) * kPicosecondsPerNs;
    TraceTables& tables = data_.tables;
    if (!tables.origin) tables.origin = time;
    const Picoseconds relative = time - *tables.origin;
    if (relative > kFarthestPacket || relative < -kFarthestPacket) {
      tables.findings.add("An event lies more than 50 days from the first event and is left out.");
      return {};
    }
    const std::uint64_t uuid = from.has_track_uuid() ? from.track_uuid() : sequence.defaultTrack;
    PerfettoTrack& track = trackOf(uuid);
    TraceEvent event;
    event.thread = track.thread;
    event.process = tables.threads[track.thread].process;
    event.time = static_cast<std::int64_t>(relative);
    event.id = -1;
    event.name = tables.names.add(nameOf(from, sequence));
    event.category = tables.names.add(categoryOf(from, sequence));
    for (const auto& annotation : from.debug_annotations()) addArgument(annotation, sequence, event);
    PIPESCOPE_TRY(extraCounters(from, event, sequence));
    if (!from.has_type() && from.has_legacy_event()) return legacy(from, event);
    switch (from.type()) {
      case perfetto_wire::TrackEvent::SLICE_BEGIN:
        event.kind = EventKind::begin;
        break;
      case perfetto_wire::TrackEvent::SLICE_END:
        event.kind = EventKind::end;
        break;
      case perfetto_wire::TrackEvent::INSTANT:
        event.kind = EventKind::instant;
        break;
      case perfetto_wire::TrackEvent::COUNTER:
        event.kind = EventKind::counter;
        event.name = counterName(track);
        event.value = valueOf(from, uuid, track, sequence);
        break;
      default:
        tables.findings.add("An event is of a type that is not imported and is left out.");
        return {};
    }
    PIPESCOPE_TRY(data_.add(event));
    return flows(from, event);
  }

  /// Values are multiplied by the unit's multiplier, so that the unit is the plain one.
  static std::string unitOf(const perfetto_wire::CounterDescriptor& counter) {
    switch (counter.unit()) {
      case perfetto_wire::CounterDescriptor::UNIT_SIZE_BYTES:
        return "B";
      case perfetto_wire::CounterDescriptor::UNIT_TIME_NS:
        return "ns";
      default:
        return mended(counter.unit_name());
    }
  }

  NameId counterName(const PerfettoTrack& track) {
    const NameId name = data_.tables.names.add(track.counter.empty() ? "counter" : track.counter);
    if (!track.unitName.empty()) data_.tables.counterUnits.emplace(name, track.unitName);
    return name;
  }

  /// Values of other counters at the time of the event.
  base::Status extraCounters(const perfetto_wire::TrackEvent& from, TraceEvent event,
                             PacketSequence& sequence) {
    event.kind = EventKind::counter;
    event.argumentCount = 0;
    const auto add = [&](std::uint64_t uuid, bool whole, std::int64_t number, double real) {
      PerfettoTrack& track = trackOf(uuid);
      event.thread = track.thread;
      event.process = data_.tables.threads[track.thread].process;
      event.name = counterName(track);
      event.value =
          whole ? wholeValue(number, uuid, track, sequence) : real * static_cast<double>(track.unit);
      return data_.add(event);
    };
    for (int i = 0; i < std::min(from.extra_counter_values_size(), from.extra_counter_track_uuids_size());
         ++i)
      PIPESCOPE_TRY(add(from.extra_counter_track_uuids(i), true, from.extra_counter_values(i), 0));
    for (int i = 0;
         i < std::min(from.extra_double_counter_values_size(), from.extra_double_counter_track_uuids_size());
         ++i)
      PIPESCOPE_TRY(
          add(from.extra_double_counter_track_uuids(i), false, 0, from.extra_double_counter_values(i)));
    return {};
  }

  /// Events of Chrome's JSON format that a packet holds.
  base::Status legacy(const perfetto_wire::TrackEvent& from, TraceEvent& event) {
    constexpr std::int64_t kLongestUs =
        std::numeric_limits<std::int64_t>::max() / 2 / kPicosecondsPerLegacyUnit;
    switch (from.legacy_event().phase()) {
      case 'X':
        event.kind = EventKind::complete;
        event.duration = std::clamp<std::int64_t>(from.legacy_event().duration_us(), 0, kLongestUs) *
                         kPicosecondsPerLegacyUnit;
        break;
      case 'B':
        event.kind = EventKind::begin;
        break;
      case 'E':
        event.kind = EventKind::end;
        break;
      case 'I':
      case 'i':
        event.kind = EventKind::instant;
        break;
      default:
        data_.tables.findings.add("An event is of a type that is not imported and is left out.");
        return {};
    }
    PIPESCOPE_TRY(data_.add(event));
    return flows(from, event);
  }

  static std::string nameOf(const perfetto_wire::TrackEvent& from, const PacketSequence& sequence) {
    if (from.has_name()) return mended(from.name());
    const auto found = sequence.names.find(from.name_iid());
    return found == sequence.names.end() ? std::string() : found->second;
  }

  static std::string categoryOf(const perfetto_wire::TrackEvent& from, const PacketSequence& sequence) {
    if (from.categories_size() > 0) return mended(from.categories(0));
    if (from.category_iids_size() == 0) return {};
    const auto found = sequence.categories.find(from.category_iids(0));
    return found == sequence.categories.end() ? std::string() : found->second;
  }

  double valueOf(const perfetto_wire::TrackEvent& from, std::uint64_t uuid, const PerfettoTrack& track,
                 PacketSequence& sequence) {
    if (from.has_double_counter_value()) return from.double_counter_value() * static_cast<double>(track.unit);
    return wholeValue(from.counter_value(), uuid, track, sequence);
  }

  static double wholeValue(std::int64_t value, std::uint64_t uuid, const PerfettoTrack& track,
                           PacketSequence& sequence) {
    if (track.incremental) {
      std::int64_t& sum = sequence.counters[uuid];
      sum = static_cast<std::int64_t>(static_cast<std::uint64_t>(sum) + static_cast<std::uint64_t>(value));
      value = sum;
    }
    return static_cast<double>(value) * static_cast<double>(track.unit);
  }

  void addArgument(const perfetto_wire::DebugAnnotation& annotation, const PacketSequence& sequence,
                   TraceEvent& event) {
    std::string_view name = annotation.name();
    const auto interned = sequence.annotations.find(annotation.name_iid());
    if (!annotation.has_name() && interned != sequence.annotations.end()) name = interned->second;
    const auto known = data_.tables.argumentNamed(name);
    if (!known) return;
    const auto value = sequence.values.find(annotation.string_value_iid());
    if (annotation.has_string_value_iid() && value != sequence.values.end()) {
      event.add({*known, true, data_.tables.names.add(value->second).value});
    } else if (annotation.has_string_value()) {
      event.add({*known, true, data_.tables.names.add(mended(annotation.string_value())).value});
    } else if (annotation.has_int_value()) {
      event.add({*known, false, annotation.int_value()});
    } else if (annotation.has_uint_value()) {
      event.add({*known, false, static_cast<std::int64_t>(annotation.uint_value())});
    }
  }

  /// The earliest event with an id is where the flow comes from.
  base::Status flows(const perfetto_wire::TrackEvent& from, TraceEvent event) {
    event.argumentCount = 0;
    event.category = data_.tables.names.add("flow");  // ids are those of the whole trace
    const auto add = [&](EventKind kind, std::uint64_t id) {
      event.kind = kind;
      event.id = static_cast<std::int64_t>(id);
      return data_.add(event);
    };
    const auto passes = [&](std::uint64_t id) -> base::Status {
      if (!openFlows_.insert(id).second) PIPESCOPE_TRY(add(EventKind::flowEnd, id));
      return add(EventKind::flowStart, id);
    };
    const auto ends = [&](std::uint64_t id) {
      openFlows_.erase(id);
      return add(EventKind::flowEnd, id);
    };
    for (const std::uint64_t id : from.flow_ids()) PIPESCOPE_TRY(passes(id));
    for (const std::uint64_t id : from.flow_ids_old()) PIPESCOPE_TRY(passes(id));
    for (const std::uint64_t id : from.terminating_flow_ids()) PIPESCOPE_TRY(ends(id));
    for (const std::uint64_t id : from.terminating_flow_ids_old()) PIPESCOPE_TRY(ends(id));
    return {};
  }

  TraceData& data_;
  std::map<std::uint32_t, PacketSequence> sequences_;
  std::map<std::uint64_t, PerfettoTrack> tracks_;
  std::map<std::uint64_t, ProcessId> processes_;  // process of each described track
  std::set<std::uint64_t> openFlows_;
};

}  // namespace

namespace {

/// Reads packets until the stream ends. `depth`: how many packets enclose the stream.
base::Status takePackets(MessageStream& stream, PerfettoReader& reader, TraceData& data,
                         const ReadReport& report, int depth) {
  std::string block;
  perfetto_wire::TracePacket packet;
  for (std::int64_t count = 1;; ++count) {
    const auto tag = stream.number();
    if (!tag) break;
    const auto size = *tag == kPacketTag ? stream.number() : std::nullopt;
    if (!size) {
      if (*tag != kPacketTag)
        data.tables.findings.add(
            "The trace is damaged: between packets stands something else. What follows is left out.");
      break;
    }
    if (!stream.block(*size, block)) break;
    if (block.empty()) continue;
    if (!packet.ParseFromString(block)) {
      data.tables.findings.add("A packet is damaged and is left out.");
      continue;
    }
    PIPESCOPE_TRY(reader.take(packet));
    if (packet.has_compressed_packets() && depth == 0) {
      TextSource packed(packet.compressed_packets());
      InflatedSource inflated(packed, "A compressed packet");
      MessageStream inner(inflated);
      PIPESCOPE_TRY(takePackets(inner, reader, data, report, depth + 1));
    }
    if (count % 4096 != 0) continue;
    report.progress.report(report.fraction(), "reading " + report.name);
    if (report.progress.cancelled()) return base::cancelled("The import was stopped.");
  }
  if (!stream.failure().empty()) data.tables.findings.add(stream.failure());
  if (stream.oversized() > 0)
    data.tables.findings.add("A packet is larger than 16 MB and is left out.", stream.oversized());
  return {};
}

bool looksLikePerfetto(std::string_view head) {
  TextSource source{std::string(head)};
  MessageStream stream(source);
  if (stream.number() != kPacketTag) return false;
  const auto size = stream.number();
  if (!size || *size == 0) return false;
  std::string packet;
  const bool whole = stream.block(*size, packet);
  perfetto_wire::TracePacket parsed;
  if (!whole || packet.empty()) return *size <= MessageStream::kMostBytes && packet.size() + 64 > head.size();
  if (!parsed.ParseFromString(packet)) return false;
  const auto next = stream.number();
  return !next || *next == kPacketTag;
}

/// Reads the track events of a Perfetto trace: slices, instants, counters and flows, with interned names.
/// Each track is a thread of its process. Packets of other data sources are passed over.
base::Status readPerfetto(ByteSource& bytes, TraceData& data, const ReadReport& report) {
  MessageStream stream(bytes);
  PerfettoReader reader(data);
  return takePackets(stream, reader, data, report, 0);
}

}  // namespace

PIPESCOPE_REGISTER_FORMAT(perfetto) {
  const auto read = [](ByteSource& bytes, TraceData& data, base::Executor&,
                       const ReadReport& report) -> base::Result<bool> {
    PIPESCOPE_TRY(readPerfetto(bytes, data, report));
    return true;
  };
  registry.add({"Perfetto's protobuf format", ".pftrace .perfetto-trace", looksLikePerfetto, read, 1});
}

}  // namespace pipescope::importing
