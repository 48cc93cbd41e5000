#pragma once
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "profiler/base/result.h"
#include "profiler/import/read/packed_event.h"
#include "profiler/import/read/trace_event.h"

namespace pipescope::importing {

/// Sorts the events of a trace by thread and time within a bounded amount of memory. Events that do not fit
/// are written to temporary files as sorted runs.
class EventSorter {
 public:
  struct Limits {
    std::size_t memoryBytes = 48 << 20;  ///< bytes of events that are held before they are written
    std::size_t asideBytes = 4 << 20;    ///< bytes of events that setAside() takes at least
    std::size_t readBytes = 128 << 10;   ///< buffer of each run when runs are merged
  };
  /// Temporary files stand in `folder`, without a name, so that nothing is left behind.
  explicit EventSorter(std::filesystem::path folder) : EventSorter(std::move(folder), Limits()) {}
  EventSorter(std::filesystem::path folder, Limits limits);
  ~EventSorter();

  base::Status add(const TraceEvent& event);
  /// `arguments` are as many as the event states.
  base::Status add(const PackedEvent& event, std::span<const ArgumentValue> arguments);
  std::int64_t size() const { return count_; }
  /// Writes what is held to a temporary file if it takes more than `bytes`, to make room for other traces.
  base::Status holdAtMost(std::size_t bytes);

  /// If many events are held, setAside() puts them into a second buffer. writeAside() then sorts and writes
  /// that buffer, on another thread if wanted, while further events are added. Call the two alternately.
  void setAside();
  base::Status writeAside();

  /// Calls `visit` for all events, ordered by thread, then start. Among events with the same start, begins
  /// and ends come first, then the longer one, because it encloses the other, and else the one that was added
  /// first. No event may be added after the first call.
  base::Status visit(const std::function<base::Status(const TraceEvent&)>& visit);
  /// The same as batches: rewind(), then next() fills the front of `batch` and returns how many events it
  /// holds, 0 at the end.
  base::Status rewind();
  base::Result<std::size_t> next(std::span<TraceEvent> batch);

 private:
  struct Key;
  struct Run;
  /// Packed events, and their keys.
  struct Held {
    std::vector<char> bytes;
    std::vector<Key> keys;
    std::size_t size() const;
    void sort();
  };
  base::Status spill(Held& held);
  bool comesLater(std::size_t run, std::size_t other) const;
  base::Result<std::size_t> nextMerged(std::span<TraceEvent> batch);

  const std::filesystem::path folder_;
  const Limits limits_;
  Held held_, aside_;
  std::vector<std::unique_ptr<Run>> runs_;
  std::int64_t count_ = 0;
  // State of the visit that goes on.
  std::size_t at_ = 0;              // place in held_.keys
  std::vector<std::size_t> later_;  // a heap of runs that follow current_
  std::size_t current_ = 0;         // the run with the next event; the number of runs at the end
};

}  // namespace pipescope::importing
