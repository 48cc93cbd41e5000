#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "profiler/import/trace_event.h"
#include "profiler/model/rows.h"
#include "profiler/record/recorder.h"

namespace pipescope::importing {

/// Pairs what belongs together in a trace: a launch on the host with the kernel or copy that it starts, and
/// the ends of the arrows that the trace states. Each pair becomes a transfer without bytes.
///
/// A launch and its kernel state the same correlation. The arrows that PyTorch's profiler states besides are
/// not used, because some of its versions state them from the kernel to the launch.
class FlowPairs {
 public:
  void addSlice(const TraceEvent& event, bool onAccelerator, model::LaneId lane, base::Ticks start);
  void addFlow(const TraceEvent& event, const std::string& category, model::LaneId lane, base::Ticks time);
  /// Writes the transfers, by start.
  void write(record::Recorder& recorder);

 private:
  struct End {
    std::int64_t id = 0;
    std::int32_t category = -1;  ///< −1: correlations
    bool from = false;
    model::LaneId lane;
    base::Ticks time;
  };
  std::vector<End> ends_;
  bool correlated_ = false;
};

}  // namespace pipescope::importing
