#include "profiler/export/perfetto.h"

#include <algorithm>
#include <limits>
#include <string>
#include <unordered_map>
#include <variant>

#include "perfetto.pb.h"
#include "profiler/export/packed_messages.h"
#include "profiler/export/trace_events.h"

namespace pipescope::exporting {
namespace {

namespace perfetto_wire = formats::perfetto;

constexpr std::uint32_t kOurSequence = 1;
constexpr char kPacketField = '\x0A';

/// Perfetto's times are unsigned nanoseconds.
std::uint64_t nanoseconds(Picoseconds ps) {
  return static_cast<std::uint64_t>(std::max<Picoseconds>((ps + 500) / 1'000, 0));
}

class PerfettoFile : public TraceSink {
 public:
  explicit PerfettoFile(const Writer& write) : write_(write) {}

  base::Status run(const ChromeRequest& request, base::Progress& progress) {
    TraceEvents events(request, progress);
    PIPESCOPE_TRY(events.read(std::numeric_limits<std::int64_t>::max()));
    perfetto_wire::TracePacket first;
    first.set_incremental_state_cleared(true);
    first.set_sequence_flags(1);
    PIPESCOPE_TRY(add(first));
    PIPESCOPE_TRY(events.write(*this));
    return flushAbove(0, write_, buffer_);
  }

  base::Status process(std::int64_t number, const std::string& name) override {
    perfetto_wire::TracePacket packet;
    perfetto_wire::TrackDescriptor& descriptor = *packet.mutable_track_descriptor();
    descriptor.set_uuid(static_cast<std::uint64_t>(number));
    descriptor.mutable_process()->set_pid(static_cast<std::int32_t>(number));
    descriptor.mutable_process()->set_process_name(name);
    return add(packet);
  }

  base::Status track(std::int64_t number, std::int64_t process, const std::string& name, int) override {
    perfetto_wire::TracePacket packet;
    describe(packet, number, process, name);
    return add(packet);
  }

  base::Status counterTrack(std::int64_t number, std::int64_t process, const std::string& name) override {
    perfetto_wire::TracePacket packet;
    describe(packet, number, process, name).mutable_counter();
    return add(packet);
  }

  base::Status slice(const TraceSlice& of) override {
    perfetto_wire::TracePacket packet;
    packet.set_timestamp(nanoseconds(of.start));
    perfetto_wire::TrackEvent& event = *packet.mutable_track_event();
    event.set_type(perfetto_wire::TrackEvent::SLICE_BEGIN);
    event.set_track_uuid(static_cast<std::uint64_t>(of.track));
    perfetto_wire::InternedData stated;
    event.set_name_iid(intern(names_, of.name, stated.mutable_event_names()));
    event.add_category_iids(intern(categories_, of.category, stated.mutable_event_categories()));
    for (const auto& [name, value] : of.facts) {
      perfetto_wire::DebugAnnotation& annotation = *event.add_debug_annotations();
      annotation.set_name_iid(intern(annotations_, name, stated.mutable_debug_annotation_names()));
      if (const auto* number = std::get_if<std::int64_t>(&value)) {
        annotation.set_int_value(*number);
      } else {
        annotation.set_string_value_iid(internValue(std::get<std::string>(value), stated));
      }
    }
    if (of.flow >= 0) {
      const auto flow = static_cast<std::uint64_t>(of.flow) + 1;
      of.flowEnds ? event.add_terminating_flow_ids(flow) : event.add_flow_ids(flow);
    }
    if (stated.event_names_size() + stated.event_categories_size() + stated.debug_annotation_names_size() +
            stated.debug_annotation_string_values_size() >
        0)
      *packet.mutable_interned_data() = stated;
    PIPESCOPE_TRY(add(packet));
    perfetto_wire::TracePacket close;
    close.set_timestamp(nanoseconds(std::max(of.end, of.start)));
    close.mutable_track_event()->set_type(perfetto_wire::TrackEvent::SLICE_END);
    close.mutable_track_event()->set_track_uuid(static_cast<std::uint64_t>(of.track));
    return add(close);
  }

  base::Status counter(std::int64_t track, std::int64_t, const std::string&, Picoseconds time,
                       double value) override {
    perfetto_wire::TracePacket packet;
    packet.set_timestamp(nanoseconds(time));
    packet.mutable_track_event()->set_type(perfetto_wire::TrackEvent::COUNTER);
    packet.mutable_track_event()->set_track_uuid(static_cast<std::uint64_t>(track));
    packet.mutable_track_event()->set_double_counter_value(value);
    return add(packet);
  }

 private:
  static perfetto_wire::TrackDescriptor& describe(perfetto_wire::TracePacket& packet, std::int64_t number,
                                                  std::int64_t process, const std::string& name) {
    perfetto_wire::TrackDescriptor& descriptor = *packet.mutable_track_descriptor();
    descriptor.set_uuid(static_cast<std::uint64_t>(number));
    descriptor.set_parent_uuid(static_cast<std::uint64_t>(process));
    descriptor.set_name(name);
    return descriptor;
  }

  /// The number of a text, which the packet states at the text's first use.
  static std::uint64_t intern(std::unordered_map<std::string, std::uint64_t>& known, const std::string& text,
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

  base::Status add(perfetto_wire::TracePacket& packet) {
    packet.set_trusted_packet_sequence_id(kOurSequence);
    buffer_ += kPacketField;
    appendSized(packet, packed_, buffer_);
    return flushAbove(kFlushBytes, write_, buffer_);
  }

  const Writer& write_;
  std::string buffer_, packed_;
  std::unordered_map<std::string, std::uint64_t> names_, categories_, annotations_, values_;
};

}  // namespace

base::Status exportPerfetto(const ChromeRequest& request, const Writer& write, base::Progress& progress) {
  return PerfettoFile(write).run(request, progress);
}

}  // namespace pipescope::exporting
