#pragma once
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

#include "profiler/base/result.h"
#include "profiler/import/trace_event.h"

namespace pipescope::importing {

/// Sorts the events of a trace by thread and time within a bounded amount of memory. What does not fit is
/// written to temporary files as sorted runs.
class EventSorter {
 public:
  struct Limits {
    std::size_t memoryBytes = 48 << 20;  ///< of events that are held before they are written
    std::size_t readBytes = 128 << 10;   ///< buffer of each run when runs are merged
  };
  /// Temporary files stand in `folder`, without a name, so that nothing is left behind.
  explicit EventSorter(std::filesystem::path folder) : EventSorter(std::move(folder), Limits()) {}
  EventSorter(std::filesystem::path folder, Limits limits);
  ~EventSorter();

  base::Status add(const TraceEvent& event);
  std::int64_t size() const { return count_; }
  /// Writes what is held to a temporary file if it takes more than `bytes`, to make room for other traces.
  base::Status holdAtMost(std::size_t bytes);

  /// Calls `visit` for all events, ordered by thread, then start. Of events with the same start, the longer
  /// one comes first, because it encloses the other, and else the one that was added first. No event may be
  /// added after the first call.
  base::Status visit(const std::function<base::Status(const TraceEvent&)>& visit);

 private:
  struct Key;
  struct Run;
  base::Status spill();
  base::Status merge(const std::function<base::Status(const TraceEvent&)>& visit);
  void sortHeld();

  const std::filesystem::path folder_;
  const Limits limits_;
  std::vector<char> held_;
  std::vector<Key> keys_;
  std::vector<std::unique_ptr<Run>> runs_;
  std::int64_t count_ = 0;
};

}  // namespace pipescope::importing
