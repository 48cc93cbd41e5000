#pragma once
// Work of the host: nested spans of its threads, events, and values, over its wall clock.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "profiler/base/progress.h"
#include "profiler/base/result.h"
#include "profiler/model/source.h"

namespace pipescope::analysis {

using base::Ticks;

/// The channel of spans in which a thread only waits.
inline constexpr const char* kWaitingChannel = "waiting";

/// Times are nanoseconds since the first recorded moment.
struct HostItem {
  /// Deeper spans have this row, and are in no list of HostLane::rows.
  static constexpr std::int32_t kMostRows = 64;
  Ticks start, end;
  std::int32_t name = 0;     ///< place in HostTimeline::names
  std::int32_t parent = -1;  ///< place in HostLane::spans of the shortest span around it; −1: none
  std::int32_t row = 0;      ///< spans of a row do not overlap; a parent is in a row above
  Ticks self = {};           ///< length without the spans directly in it
  Ticks length() const { return end - start; }
};

struct HostMark {
  Ticks time;
  std::int32_t name = 0;
};

/// A thread, and what it did.
struct HostLane {
  std::string process, name;
  std::vector<HostItem> spans;                  ///< sorted by start; a parent comes before what is in it
  std::vector<HostMark> events;                 ///< sorted by time
  std::vector<std::vector<std::int32_t>> rows;  ///< places in `spans` by row, by start
  Ticks busy;                                   ///< time within any span
  /// "main", or "main of instance 1 on node7".
  std::string title() const;
};

struct HostLabel {
  std::string channel, name;
};

struct HostPoint {
  Ticks time;
  double value = 0;
};
struct HostCurve {
  std::string chart, name, unit;
  std::vector<HostPoint> points;  ///< sorted by time
  double smallest = 0, largest = 0, mean = 0;
  bool pinned = false;  ///< a value of the model, which stays visible above the threads
};

/// A call from the host, in wall time.
struct HostCall {
  std::string name;
  Ticks start, end;
};

struct HostTimeline {
  std::vector<HostLabel> names;
  std::vector<HostLane> lanes;  ///< threads with spans or events
  std::vector<HostCurve> curves;
  std::vector<HostCall> calls;  ///< sorted by start; only calls that computed something
  Ticks end;                    ///< the last recorded moment
  /// The clock of the program at time 0, in ns: negative if the program was loaded later.
  std::int64_t zero = 0;
  bool empty() const { return lanes.empty() && curves.empty(); }
  std::size_t spanCount() const;
  std::size_t eventCount() const;
};

/// Reads everything. Rows that name no known thread or name are left out. Fails if rows are damaged.
base::Result<std::shared_ptr<const HostTimeline>> hostTimeline(const model::ProfileSource& source,
                                                               base::Progress& progress);

}  // namespace pipescope::analysis
