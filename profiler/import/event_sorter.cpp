#include "profiler/import/event_sorter.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <queue>
#include <tuple>

namespace pipescope::importing {
namespace {

/// The part of an event that every event has, as it stands in memory and in runs. Arguments follow it.
struct PackedEvent {
  std::int64_t time, duration, id;
  double value;
  std::int32_t process, thread, name, category;
  std::uint8_t kind, argumentCount;
};
static_assert(std::is_trivially_copyable_v<PackedEvent> && std::is_trivially_copyable_v<ArgumentValue>);

PackedEvent packed(const TraceEvent& event) {
  const auto narrow = [](auto id) { return static_cast<std::int32_t>(id.value); };
  return {event.time,         event.duration,         event.id,
          event.value,        narrow(event.process),  narrow(event.thread),
          narrow(event.name), narrow(event.category), static_cast<std::uint8_t>(event.kind),
          event.argumentCount};
}

/// Reads an event from its packed bytes and returns their number.
std::size_t unpack(const char* bytes, TraceEvent& event) {
  PackedEvent from;
  std::memcpy(&from, bytes, sizeof from);
  event.kind = static_cast<EventKind>(from.kind);
  event.process = ProcessId(from.process);
  event.thread = ThreadId(from.thread);
  event.name = NameId(from.name);
  event.category = NameId(from.category);
  event.time = from.time;
  event.duration = from.duration;
  event.id = from.id;
  event.value = from.value;
  event.argumentCount = from.argumentCount;
  const std::size_t argumentBytes = from.argumentCount * sizeof(ArgumentValue);
  if (argumentBytes > 0) std::memcpy(event.arguments.data(), bytes + sizeof from, argumentBytes);
  return sizeof from + argumentBytes;
}

}  // namespace

struct EventSorter::Key {
  std::int64_t time, duration;
  std::int32_t thread;
  std::uint32_t offset;  // in held_; also the order of adding

  bool operator<(const Key& other) const {
    return std::tie(thread, time, other.duration, offset) <
           std::tie(other.thread, other.time, duration, other.offset);
  }
};

/// A sorted run in a temporary file.
struct EventSorter::Run {
  explicit Run(std::FILE* opened) : file(opened) {}
  ~Run() { std::fclose(file); }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  void rewind(std::size_t bytes) {
    std::rewind(file);
    buffer.clear();
    at = 0;
    readBytes = bytes;
    ended = false;
  }

  /// Reads the next event. False at the end.
  base::Result<bool> next() {
    constexpr std::size_t kLargest = sizeof(PackedEvent) + kArguments * sizeof(ArgumentValue);
    if (buffer.size() - at < kLargest && !ended) {
      buffer.erase(buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(at));
      at = 0;
      const std::size_t before = buffer.size();
      buffer.resize(std::max(readBytes, 2 * kLargest));
      const std::size_t count = std::fread(buffer.data() + before, 1, buffer.size() - before, file);
      if (std::ferror(file) != 0)
        return base::ioError(fmt::format("A temporary file cannot be read: {}.", std::strerror(errno)));
      ended = count < buffer.size() - before;
      buffer.resize(before + count);
    }
    if (at == buffer.size()) return false;
    at += unpack(buffer.data() + at, event);
    return true;
  }

  std::FILE* file;
  std::vector<char> buffer;
  std::size_t at = 0, readBytes = 0;
  bool ended = false;
  TraceEvent event;
};

EventSorter::EventSorter(std::filesystem::path folder, Limits limits)
    : folder_(std::move(folder)), limits_(limits) {}
EventSorter::~EventSorter() = default;

base::Status EventSorter::add(const TraceEvent& event) {
  const PackedEvent head = packed(event);
  const std::size_t argumentBytes = event.argumentCount * sizeof(ArgumentValue);
  keys_.push_back({event.time, event.duration, head.thread, static_cast<std::uint32_t>(held_.size())});
  const auto* bytes = reinterpret_cast<const char*>(&head);
  held_.insert(held_.end(), bytes, bytes + sizeof head);
  bytes = reinterpret_cast<const char*>(event.arguments.data());
  held_.insert(held_.end(), bytes, bytes + argumentBytes);
  ++count_;
  if (held_.size() + keys_.size() * sizeof(Key) >= limits_.memoryBytes) return spill();
  return {};
}

base::Status EventSorter::holdAtMost(std::size_t bytes) {
  if (held_.size() + keys_.size() * sizeof(Key) <= bytes) return {};
  PIPESCOPE_TRY(spill());
  held_.shrink_to_fit();
  keys_.shrink_to_fit();
  return {};
}

void EventSorter::sortHeld() {
  std::sort(keys_.begin(), keys_.end());
}

base::Status EventSorter::spill() {
  const auto failure = [&] {
    return base::ioError(
        fmt::format("Temporary data cannot be written to {}: {}; choose an output on a disk "
                    "with more room.",
                    folder_.string(), std::strerror(errno)));
  };
  sortHeld();
  const int descriptor = open(folder_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  std::FILE* const file = descriptor >= 0 ? fdopen(descriptor, "w+b") : std::tmpfile();
  if (file == nullptr) return failure();
  runs_.push_back(std::make_unique<Run>(file));
  TraceEvent event;
  for (const Key& key : keys_) {
    const std::size_t size = unpack(held_.data() + key.offset, event);
    if (std::fwrite(held_.data() + key.offset, 1, size, file) != size) return failure();
  }
  if (std::fflush(file) != 0) return failure();
  held_.clear();
  keys_.clear();
  return {};
}

base::Status EventSorter::visit(const std::function<base::Status(const TraceEvent&)>& visit) {
  if (!runs_.empty()) {
    if (!keys_.empty()) PIPESCOPE_TRY(spill());
    held_ = {};
    keys_ = {};
    return merge(visit);
  }
  sortHeld();
  TraceEvent event;
  for (const Key& key : keys_) {
    unpack(held_.data() + key.offset, event);
    PIPESCOPE_TRY(visit(event));
  }
  return {};
}

base::Status EventSorter::merge(const std::function<base::Status(const TraceEvent&)>& visit) {
  // Runs were written in the order of adding, so the index decides between equal events.
  const auto later = [this](std::size_t a, std::size_t b) {
    const TraceEvent &x = runs_[a]->event, &y = runs_[b]->event;
    return std::tie(y.thread, y.time, x.duration, b) < std::tie(x.thread, x.time, y.duration, a);
  };
  std::priority_queue<std::size_t, std::vector<std::size_t>, decltype(later)> first(later);
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    runs_[i]->rewind(limits_.readBytes);
    PIPESCOPE_ASSIGN(const bool any, runs_[i]->next());
    if (any) first.push(i);
  }
  while (!first.empty()) {
    const std::size_t i = first.top();
    first.pop();
    PIPESCOPE_TRY(visit(runs_[i]->event));
    PIPESCOPE_ASSIGN(const bool more, runs_[i]->next());
    if (more) first.push(i);
  }
  return {};
}

}  // namespace pipescope::importing
