// Reads .xplane.pb files, the profiles of JAX, XLA and TensorFlow on TPUs, GPUs and processors.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <unordered_map>

#include "profiler/import/read/source/message_stream.h"
#include "profiler/import/read/source/temporary_file.h"
#include "profiler/import/read/source/text_mending.h"
#include "profiler/import/read/trace_format.h"
#include "xplane.pb.h"

namespace pipescope::importing {
namespace {

namespace xplane_wire = formats::xplane;

constexpr std::int64_t kPicosecondsPerNano = 1000;
/// Farther from the first line than this (53 days) no event of a run can be.
constexpr Picoseconds kFarthestPlane = Picoseconds{std::numeric_limits<std::int64_t>::max()} / 2;

enum Wire : std::uint64_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };
constexpr std::uint64_t tagOf(std::uint64_t field, Wire wire) {
  return field << 3U | wire;
}

/// Passes over the value of a field. False if the stream ends, or if the field is of no known kind.
bool skipValue(MessageStream& stream, std::uint64_t tag) {
  std::string unused;
  switch (tag & 7U) {
    case kVarint:
      return stream.number().has_value();
    case kFixed64:
      return stream.block(8, unused);
    case kFixed32:
      return stream.block(4, unused);
    case kBytes: {
      const auto size = stream.number();
      return size && stream.block(*size, unused);
    }
    default:
      return false;
  }
}

/// The bytes of one plane in a temporary file: its names stand behind its events, so it is read twice, and it
/// may be larger than memory.
class PlaneFile {
 public:
  static base::Result<PlaneFile> copy(MessageStream& stream, std::uint64_t size,
                                      const std::filesystem::path& folder) {
    PlaneFile plane;
    plane.file_.reset(openTemporaryFile(folder));
    if (plane.file_ == nullptr) return temporaryFileFailure(folder);
    constexpr std::uint64_t kPart = 1 << 20;
    std::string part;
    while (size > 0) {
      const bool whole = stream.block(std::min(size, kPart), part);
      if (std::fwrite(part.data(), 1, part.size(), plane.file_.get()) != part.size())
        return temporaryFileFailure(folder);
      if (!whole) break;
      size -= part.size();
    }
    return plane;
  }

  /// Reads it from its beginning.
  class Source : public ByteSource {
   public:
    explicit Source(const PlaneFile& plane) : file_(plane.file_.get()) { std::rewind(file_); }
    base::Result<std::size_t> read(std::span<char> buffer) override {
      return std::fread(buffer.data(), 1, buffer.size(), file_);
    }

   private:
    std::FILE* file_;
  };

 private:
  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, Closer> file_;
};

class PlaneReader {
 public:
  PlaneReader(const PlaneFile& plane, TraceData& data, const ReadReport& report)
      : plane_(plane), data_(data), report_(report) {}

  base::Status read() {
    readNames();
    PlaneFile::Source source(plane_);
    MessageStream stream(source);
    for (auto tag = stream.number(); tag; tag = stream.number()) {
      if (*tag != tagOf(3, kBytes)) {
        if (!skipValue(stream, *tag)) break;
        continue;
      }
      const auto size = stream.number();
      if (!size) break;
      PIPESCOPE_TRY(line(stream, *size));
      if (report_.progress.cancelled()) return base::cancelled("The import was stopped.");
    }
    return {};
  }

 private:
  /// Reads what stands behind the lines: the names of the plane, its events and their arguments.
  void readNames() {
    PlaneFile::Source source(plane_);
    MessageStream stream(source);
    std::string block;
    for (auto tag = stream.number(); tag; tag = stream.number()) {
      const bool named = *tag == tagOf(2, kBytes) || *tag == tagOf(4, kBytes) || *tag == tagOf(5, kBytes);
      if (*tag == tagOf(3, kBytes)) {
        const auto size = stream.number();
        if (!size || !readStart(stream, *size)) break;
      } else if (!named) {
        if (!skipValue(stream, *tag)) break;
      } else {
        const auto size = stream.number();
        if (!size || !stream.block(*size, block)) break;
        if (*tag == tagOf(2, kBytes)) name_ = mended(block);
        if (*tag == tagOf(4, kBytes)) addEventName(block);
        if (*tag == tagOf(5, kBytes)) addStatName(block);
      }
    }
    // The first plane may have lines that state no time.
    if (!data_.tables.origin && anyLine_) data_.tables.origin = latestStart_ * kPicosecondsPerNano;
    process_ = data_.tables.process(name_);
    data_.tables.processes[process_].name = name_;
  }

  /// Reads when a line starts, and passes over the rest of it.
  bool readStart(MessageStream& stream, std::uint64_t size) {
    const std::uint64_t end = stream.position() + size;
    while (stream.position() < end) {
      const auto tag = stream.number();
      if (!tag) return false;
      if (*tag != tagOf(3, kVarint)) {
        if (!skipValue(stream, *tag)) return false;
        continue;
      }
      const auto start = stream.number();
      if (!start) return false;
      latestStart_ = std::max(latestStart_, static_cast<Picoseconds>(static_cast<std::int64_t>(*start)));
    }
    anyLine_ = true;
    return true;
  }

  void addEventName(const std::string& block) {
    xplane_wire::XEventMetadataEntry entry;
    if (!entry.ParseFromString(block)) return damaged("A name of events is damaged and is left out.");
    const auto& value = entry.value();
    events_[entry.key()] =
        data_.tables.names.add(mended(value.display_name().empty() ? value.name() : value.display_name()));
  }

  void addStatName(const std::string& block) {
    xplane_wire::XStatMetadataEntry entry;
    if (!entry.ParseFromString(block)) return damaged("A name of arguments is damaged and is left out.");
    const std::string& name = entry.value().name();
    Stat& stat = stats_[entry.key()];
    stat.text = data_.tables.names.add(mended(name));
    stat.argument = name == "correlation_id" ? std::optional(Argument::correlation)
                    : name == "step_num"     ? std::optional(Argument::step)
                                             : data_.tables.argumentNamed(name);
  }

  void damaged(const char* what) { data_.tables.findings.add(what); }

  /// Reads a line: its number, name and start come first, then its events.
  base::Status line(MessageStream& stream, std::uint64_t size) {
    const std::uint64_t end = stream.position() + size;
    std::uint64_t id = 0;
    std::int64_t start = 0, count = 0;
    std::string name, block;
    std::optional<ThreadId> thread;
    const auto threadOf = [&] {
      if (!thread) thread = data_.tables.thread(process_, std::to_string(id));
      return *thread;
    };
    while (stream.position() < end) {
      const auto tag = stream.number();
      if (!tag) return {};
      if (*tag == tagOf(1, kVarint)) {
        id = stream.number().value_or(0);
      } else if (*tag == tagOf(3, kVarint)) {
        start = static_cast<std::int64_t>(stream.number().value_or(0));
      } else if (*tag == tagOf(2, kBytes) || *tag == tagOf(11, kBytes)) {
        const auto length = stream.number();
        if (!length || !stream.block(*length, block)) return {};
        // The name to display comes last.
        if (!block.empty()) name = mended(block);
      } else if (*tag == tagOf(4, kBytes)) {
        const auto length = stream.number();
        if (!length || !stream.block(*length, block)) return {};
        PIPESCOPE_TRY(event(block, threadOf(), start));
        if (++count % 65536 == 0 && report_.progress.cancelled())
          return base::cancelled("The import was stopped.");
      } else if (!skipValue(stream, *tag)) {
        return {};
      }
    }
    if (thread) data_.tables.threads[*thread].name = name;
    return {};
  }

  base::Status event(const std::string& block, ThreadId thread, std::int64_t lineStart) {
    if (!event_.ParseFromString(block))
      return damaged("An event is damaged and is left out."), base::Status();
    if (event_.data_case() == xplane_wire::XEvent::kNumOccurrences)
      return damaged("An event states how often it occurred, but no time, and is left out."), base::Status();
    const Picoseconds time =
        Picoseconds{lineStart} * kPicosecondsPerNano + event_.offset_ps() - data_.tables.origin.value_or(0);
    if (time > kFarthestPlane || time < -kFarthestPlane || event_.duration_ps() < 0 ||
        event_.duration_ps() > kFarthestPlane)
      return damaged("An event lies more than 50 days from the others and is left out."), base::Status();
    TraceEvent row;
    row.kind = EventKind::complete;
    row.process = process_;
    row.thread = thread;
    row.time = static_cast<std::int64_t>(time);
    row.duration = event_.duration_ps();
    row.id = -1;
    const auto name = events_.find(event_.metadata_id());
    row.name = name == events_.end() ? data_.tables.names.add("") : name->second;
    row.category = data_.tables.names.add("");
    for (const auto& stat : event_.stats()) argument(stat, row);
    PIPESCOPE_TRY(data_.add(row));
    return arrow(row);
  }

  void argument(const xplane_wire::XStat& stat, TraceEvent& row) {
    const auto known = stats_.find(stat.metadata_id());
    if (known == stats_.end() || !known->second.argument) return;
    const Argument argument = *known->second.argument;
    switch (stat.value_case()) {
      case xplane_wire::XStat::kInt64Value:
        row.add({argument, false, stat.int64_value()});
        break;
      case xplane_wire::XStat::kUint64Value:
        row.add({argument, false, static_cast<std::int64_t>(stat.uint64_value())});
        break;
      case xplane_wire::XStat::kStrValue:
        row.add({argument, true, data_.tables.names.add(mended(stat.str_value())).value});
        break;
      case xplane_wire::XStat::kRefValue:
        if (const auto text = stats_.find(static_cast<std::int64_t>(stat.ref_value())); text != stats_.end())
          row.add({argument, true, text->second.text.value});
        break;
      default:
        break;
    }
  }

  /// A launch on the host and what it starts on a device state the same number.
  base::Status arrow(const TraceEvent& event) {
    const std::int64_t launch = event.numberOf(Argument::correlation);
    if (launch <= 0) return {};
    TraceEvent end = event;
    end.kind = name_.starts_with("/device:") ? EventKind::flowEnd : EventKind::flowStart;
    end.duration = 0;
    end.id = launch;
    end.name = end.category = data_.tables.names.add("launch");
    end.argumentCount = 0;
    return data_.add(end);
  }

  struct Stat {
    NameId text;
    std::optional<Argument> argument;
  };
  const PlaneFile& plane_;
  TraceData& data_;
  const ReadReport& report_;
  std::string name_;
  ProcessId process_;
  std::unordered_map<std::int64_t, NameId> events_;
  std::unordered_map<std::int64_t, Stat> stats_;
  xplane_wire::XEvent event_;
  Picoseconds latestStart_ = 0;  // ns
  bool anyLine_ = false;
};

/// The first plane begins with its number, which may be left out, and its name.
bool looksLikeXplane(std::string_view head) {
  TextSource source{std::string(head)};
  MessageStream stream(source);
  std::string name;
  if (stream.number() != tagOf(1, kBytes) || !stream.number()) return false;
  auto tag = stream.number();
  if (tag == tagOf(1, kVarint)) {
    if (!stream.number()) return false;
    tag = stream.number();
  }
  if (tag != tagOf(2, kBytes)) return false;
  constexpr std::uint64_t kLongestName = 200;
  const auto size = stream.number();
  if (!size || *size == 0 || *size > kLongestName || !stream.block(*size, name)) return false;
  const bool known = name.starts_with("/") || name.starts_with("#") || name == "Task Environment";
  return known && std::ranges::all_of(name, [](char c) { return c >= ' ' && c <= '~'; });
}

base::Result<bool> readXplane(ByteSource& bytes, TraceData& data, base::Executor&, const ReadReport& report) {
  MessageStream stream(bytes);
  std::string text;
  for (auto tag = stream.number(); tag; tag = stream.number()) {
    if (*tag == tagOf(1, kBytes)) {
      const auto size = stream.number();
      if (!size) break;
      PIPESCOPE_ASSIGN(const PlaneFile plane, PlaneFile::copy(stream, *size, data.temporaryFolder));
      PIPESCOPE_TRY(PlaneReader(plane, data, report).read());
    } else if (*tag == tagOf(2, kBytes) || *tag == tagOf(3, kBytes)) {
      const auto size = stream.number();
      if (!size || !stream.block(*size, text)) break;
      data.tables.findings.add("The profiler said: " + mended(text));
    } else if (!skipValue(stream, *tag)) {
      data.tables.findings.add("The trace is damaged: what follows an unknown field is left out.");
      break;
    }
  }
  if (!stream.failure().empty()) data.tables.findings.add(stream.failure());
  return true;
}

}  // namespace

PIPESCOPE_REGISTER_FORMAT(xplane) {
  registry.add({"XPlane files of JAX and XLA", ".pb", looksLikeXplane, readXplane});
}

}  // namespace pipescope::importing
