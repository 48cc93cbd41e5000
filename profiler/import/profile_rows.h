#pragma once
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "profiler/import/slice_lanes.h"
#include "profiler/import/trace_reader.h"
#include "profiler/model/rows.h"
#include "profiler/record/recorder.h"

namespace pipescope::importing {

/// Writes the rows of traces: a device for each accelerator or process, a lane for each level of a thread,
/// and segments that are placed once.
class ProfileRows {
 public:
  explicit ProfileRows(record::Recorder& recorder) : recorder_(recorder) {}

  /// Writes the rows that all traces share. `source` names the traces for people.
  void begin(const std::string& source);
  /// Writes all events of a trace. `start` is the time, in the trace's own clock, that becomes 0. Slices are
  /// counted in slices().
  base::Status add(TraceData& trace, const std::string& devicePrefix, std::int64_t start);
  /// Writes what is known only after the last trace.
  void end();
  std::int64_t slices() const { return slices_; }

 private:
  struct LaneRows;
  struct TraceRows;

  record::Recorder& recorder_;
  model::ExecutableId executable_;
  std::int64_t slices_ = 0, devices_ = 0;
  base::Ticks last_;
};

}  // namespace pipescope::importing
