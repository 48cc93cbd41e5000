#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <queue>
#include <string>
#include <vector>

#include "profiler/import/read/event_sorter.h"
#include "profiler/model/rows.h"
#include "profiler/record/recorder.h"

namespace pipescope::importing {

/// Counts the launches of a device that have not started yet. Launches come in the order of their starts.
class LaunchQueue {
 public:
  LaunchQueue(record::Recorder& recorder, model::DeviceId device);
  void add(base::Ticks launch, base::Ticks start);
  void finish() { runUntil(base::Ticks(INT64_MAX)); }

 private:
  void runUntil(base::Ticks time);
  void sample(base::Ticks time);
  record::Recorder& recorder_;
  model::CounterId counter_;
  std::priority_queue<base::Ticks, std::vector<base::Ticks>, std::greater<>> starts_;
  base::Ticks last_{INT64_MIN};  ///< time of the value that is not written yet
  double value_ = 0;
};

/// Pairs what belongs together in a trace: a launch on the host with the kernel or copy that it starts, and
/// the ends of the arrows that the trace states. Each pair becomes a transfer without bytes. Memory is
/// bounded: what does not fit goes to temporary files.
///
/// A launch and its kernel state the same correlation; one launch of a CUDA or HIP graph starts many kernels.
/// Where kernels do, the arrows that PyTorch's profiler
/// states besides are not used, because some of its versions state them from the kernel to the launch.
class FlowPairs {
 public:
  /// `correlated`: kernels of the trace state a correlation.
  FlowPairs(const std::filesystem::path& temporaryFolder, bool correlated);

  /// True for an arrow that a correlation states as well.
  bool isKnown(const std::string& category) const;
  /// `launch`: TraceData::launchOf() of the slice.
  base::Status addSlice(std::int64_t launch, bool onAccelerator, model::LaneId lane, base::Ticks start);
  base::Status addFlow(const TraceEvent& event, model::LaneId lane, base::Ticks time);
  /// Writes the transfers, by start, and counts launches that wait, for each lane of an accelerator that
  /// `deviceOf` names. Call it once, at the end.
  base::Status write(record::Recorder& recorder, const std::map<model::LaneId, model::DeviceId>& deviceOf);

 private:
  struct End {
    base::Ticks time;
    model::LaneId lane;
    bool passesOn = false;  ///< a step of an arrow: it ends here, and goes on
  };
  base::Status add(std::int64_t kind, std::int64_t id, bool from, const End& end);
  base::Status pairEnds();
  base::Status addPair(const End& from, const End& to);

  const bool correlated_;
  EventSorter ends_;   // sorted by kind and id
  EventSorter pairs_;  // sorted by start
  // Ends of one id: where it comes from, and where it goes to.
  std::vector<End> from_, to_;
};

}  // namespace pipescope::importing
