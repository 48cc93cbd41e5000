#include "profiler/import/read/event_sorter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <limits>
#include <tuple>

#include "profiler/import/read/source/temporary_file.h"

namespace pipescope::importing {
namespace {

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

/// Number of bytes of a packed event.
std::size_t packedSize(const char* bytes) {
  const auto arguments = static_cast<std::uint8_t>(bytes[offsetof(PackedEvent, argumentCount)]);
  return sizeof(PackedEvent) + arguments * sizeof(ArgumentValue);
}

/// Copies only the arguments that the event has.
void copyEvent(const TraceEvent& from, TraceEvent& to) {
  to.kind = from.kind;
  to.process = from.process;
  to.thread = from.thread;
  to.name = from.name;
  to.category = from.category;
  to.time = from.time;
  to.duration = from.duration;
  to.id = from.id;
  to.value = from.value;
  to.argumentCount = from.argumentCount;
  std::copy_n(from.arguments.begin(), from.argumentCount, to.arguments.begin());
}

/// Rank of an event among those at one time: a larger rank comes first. Begins and ends come before what
/// states its duration: an end makes room for what starts then, and nobody knows yet how long a begun event
/// lasts.
std::int64_t rankOf(std::uint8_t kind, std::int64_t duration) {
  switch (static_cast<EventKind>(kind)) {
    case EventKind::begin:
    case EventKind::end:
    case EventKind::asyncBegin:
    case EventKind::asyncEnd:
      return std::numeric_limits<std::int64_t>::max();
    default:
      return duration;
  }
}

std::int64_t rankOf(const TraceEvent& event) {
  return rankOf(static_cast<std::uint8_t>(event.kind), event.duration);
}

/// Events of a batch.
constexpr std::size_t kBatch = 512;

}  // namespace

struct EventSorter::Key {
  std::int64_t time, rank;
  std::int32_t thread;
  std::uint32_t offset;  // place in Held::bytes, which is the order of adding, too

  /// Orders the events of one thread.
  bool operator<(const Key& other) const {
    if (time != other.time) return time < other.time;
    return rank != other.rank ? rank > other.rank : offset < other.offset;
  }
};

std::size_t EventSorter::Held::size() const {
  return bytes.size() + keys.size() * sizeof(Key);
}

/// Sorts what consists of a few ascending runs, as the rows of several threads one after the other, by
/// merging the runs. `spare` is memory that is used again.
template <class Key>
void sortRuns(std::span<Key> keys, std::vector<Key>& spare) {
  constexpr std::size_t kFewRuns = 64;
  std::vector<std::size_t> begins = {0};
  for (std::size_t i = 1; i < keys.size(); ++i) {
    if (!(keys[i] < keys[i - 1])) continue;
    if (begins.size() == kFewRuns) return std::sort(keys.begin(), keys.end());
    begins.push_back(i);
  }
  while (begins.size() > 1) {
    spare.resize(std::max(spare.size(), keys.size()));
    std::vector<std::size_t> merged;
    for (std::size_t r = 0; r < begins.size(); r += 2) {
      const auto place = [&](std::size_t run) {
        return static_cast<std::ptrdiff_t>(run < begins.size() ? begins[run] : keys.size());
      };
      const auto first = keys.begin();
      std::merge(first + place(r), first + place(r + 1), first + place(r + 1), first + place(r + 2),
                 spare.begin() + place(r));
      merged.push_back(begins[r]);
    }
    std::copy_n(spare.begin(), keys.size(), keys.begin());
    begins = std::move(merged);
  }
}

/// Most traces state the events of each thread in the order of time, so threads are told apart first.
void EventSorter::Held::sort() {
  std::int32_t threads = 0, least = 0;
  for (const Key& key : keys) {
    threads = std::max(threads, key.thread + 1);
    least = std::min(least, key.thread);
  }
  if (least < 0 || static_cast<std::size_t>(threads) > 4 * keys.size() + 1024) {
    std::sort(keys.begin(), keys.end(),
              [](const Key& a, const Key& b) { return a.thread != b.thread ? a.thread < b.thread : a < b; });
    return;
  }
  std::vector<std::size_t> ends(static_cast<std::size_t>(threads) + 1, 0);
  for (const Key& key : keys) ++ends[static_cast<std::size_t>(key.thread) + 1];
  for (std::size_t t = 1; t < ends.size(); ++t) ends[t] += ends[t - 1];
  std::vector<Key> sorted(keys.size());
  std::vector<std::size_t> next(ends.begin(), ends.end() - 1);
  for (const Key& key : keys) sorted[next[static_cast<std::size_t>(key.thread)]++] = key;
  std::swap(keys, sorted);
  for (std::size_t t = 0; t + 1 < ends.size(); ++t)
    sortRuns(std::span(keys).subspan(ends[t], ends[t + 1] - ends[t]), sorted);
}

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
  return add(packed(event), argumentsOf(event));
}

base::Status EventSorter::add(const PackedEvent& event, std::span<const ArgumentValue> arguments) {
  const std::size_t at = held_.bytes.size();
  held_.keys.push_back(
      {event.time, rankOf(event.kind, event.duration), event.thread, static_cast<std::uint32_t>(at)});
  held_.bytes.resize(at + sizeof event + arguments.size_bytes());
  std::memcpy(held_.bytes.data() + at, &event, sizeof event);
  if (!arguments.empty())
    std::memcpy(held_.bytes.data() + at + sizeof event, arguments.data(), arguments.size_bytes());
  ++count_;
  if (held_.size() >= limits_.memoryBytes) return spill(held_);
  return {};
}

void EventSorter::setAside() {
  // Larger parts for larger traces, so that a trace has some hundred runs at most.
  const std::size_t enough = std::min(limits_.asideBytes * (1 + runs_.size() / 16), limits_.memoryBytes / 2);
  if (aside_.keys.empty() && held_.size() >= enough) std::swap(held_, aside_);
}

base::Status EventSorter::writeAside() {
  return aside_.keys.empty() ? base::Status() : spill(aside_);
}

base::Status EventSorter::holdAtMost(std::size_t bytes) {
  PIPESCOPE_TRY(writeAside());
  if (held_.size() <= bytes) return {};
  PIPESCOPE_TRY(spill(held_));
  held_ = {};
  aside_ = {};
  return {};
}

base::Status EventSorter::spill(Held& held) {
  const auto failure = [&] { return temporaryFileFailure(folder_); };
  held.sort();
  std::FILE* const file = openTemporaryFile(folder_);
  if (file == nullptr) return failure();
  runs_.push_back(std::make_unique<Run>(file));
  std::vector<char> sorted;
  const auto flush = [&] {
    const bool written = std::fwrite(sorted.data(), 1, sorted.size(), file) == sorted.size();
    sorted.clear();
    return written;
  };
  for (const Key& key : held.keys) {
    const char* const from = held.bytes.data() + key.offset;
    sorted.insert(sorted.end(), from, from + packedSize(from));
    if (sorted.size() >= limits_.readBytes && !flush()) return failure();
  }
  if (!flush() || std::fflush(file) != 0) return failure();
  held.bytes.clear();
  held.keys.clear();
  return {};
}

base::Status EventSorter::visit(const std::function<base::Status(const TraceEvent&)>& visit) {
  PIPESCOPE_TRY(rewind());
  std::vector<TraceEvent> batch(std::min<std::size_t>(kBatch, static_cast<std::size_t>(count_)));
  for (;;) {
    PIPESCOPE_ASSIGN(const std::size_t count, next(batch));
    if (count == 0) return {};
    for (std::size_t i = 0; i < count; ++i) PIPESCOPE_TRY(visit(batch[i]));
  }
}

base::Status EventSorter::rewind() {
  PIPESCOPE_TRY(writeAside());
  at_ = 0;
  if (runs_.empty()) {
    held_.sort();
    return {};
  }
  if (!held_.keys.empty()) PIPESCOPE_TRY(spill(held_));
  held_ = {};
  aside_ = {};
  later_.clear();
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    runs_[i]->rewind(limits_.readBytes);
    PIPESCOPE_ASSIGN(const bool any, runs_[i]->next());
    if (any) later_.push_back(i);
  }
  const auto later = [this](std::size_t a, std::size_t b) { return comesLater(a, b); };
  std::make_heap(later_.begin(), later_.end(), later);
  current_ = runs_.size();
  if (later_.empty()) return {};
  std::pop_heap(later_.begin(), later_.end(), later);
  current_ = later_.back();
  later_.pop_back();
  return {};
}

base::Result<std::size_t> EventSorter::next(std::span<TraceEvent> batch) {
  if (!runs_.empty()) return nextMerged(batch);
  std::size_t count = 0;
  for (; count < batch.size() && at_ < held_.keys.size(); ++count, ++at_)
    unpack(held_.bytes.data() + held_.keys[at_].offset, batch[count]);
  return count;
}

/// Runs were written in the order of adding, so the index decides between equal events.
bool EventSorter::comesLater(std::size_t run, std::size_t other) const {
  const TraceEvent &x = runs_[run]->event, &y = runs_[other]->event;
  return std::tuple(y.thread, y.time, rankOf(x), other) < std::tuple(x.thread, x.time, rankOf(y), run);
}

base::Result<std::size_t> EventSorter::nextMerged(std::span<TraceEvent> batch) {
  const auto later = [this](std::size_t a, std::size_t b) { return comesLater(a, b); };
  std::size_t count = 0;
  while (count < batch.size() && current_ < runs_.size()) {
    copyEvent(runs_[current_]->event, batch[count++]);
    PIPESCOPE_ASSIGN(const bool more, runs_[current_]->next());
    // A run holds a stretch of the trace, so its events mostly follow each other.
    if (more && (later_.empty() || comesLater(later_.front(), current_))) continue;
    if (more) later_.push_back(current_);
    if (more) std::push_heap(later_.begin(), later_.end(), later);
    if (later_.empty()) {
      current_ = runs_.size();
      break;
    }
    std::pop_heap(later_.begin(), later_.end(), later);
    current_ = later_.back();
    later_.pop_back();
  }
  return count;
}

}  // namespace pipescope::importing
