#pragma once
// A trace while it is being loaded. The parts of the loader of trace.h share it.
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "profiler/analysis/timeline/trace.h"
#include "profiler/analysis/timeline/trace_levels.h"
#include "profiler/analysis/timeline/trace_segment.h"

namespace pipescope::analysis {

struct TraceDraft {
  TraceDraft(const model::ProfileSource& profile, const Catalog& facts, const TraceRequest& asked,
             base::Progress& watched)
      : source(profile),
        catalog(facts),
        request(asked),
        progress(watched),
        trace(std::make_shared<Trace>()),
        names(trace->names) {}

  using LaneNodes = std::map<model::LaneId, std::vector<model::LevelNode>>;

  DeviceTrace* deviceOf(model::DeviceId id);
  Ticks toAxis(const DeviceTrace& device, Ticks ticks) const;
  bool inWindow(const model::BlockInfo& block) const;
  bool inWindow(Ticks start, Ticks end) const;
  /// Says whether lanes of the device work at the same time, without reading all placements.
  bool worksSideBySide(model::DeviceId device) const;
  std::vector<model::LaneId> lanesOf(model::DeviceId device) const;
  /// Returns the name path of a step (or its program's kind if it has no name) and that kind.
  std::pair<std::string, std::string> textsOf(const model::Step& step);
  /// True for a block of transfers that holds nothing but launches and arrows of a trace, in which nothing
  /// moves.
  Result<bool> holdsArrowsOnly(std::size_t block) const;
  /// Reports progress. Returns an error once the loading is cancelled.
  base::Status report(double from, std::size_t block, std::size_t blocks, const char* what);

  const model::ProfileSource& source;
  const Catalog& catalog;
  const TraceRequest request;
  base::Progress& progress;
  std::shared_ptr<Trace> trace;
  NameTable names;
  bool sameTimebase = true;
  /// True if a recorded run has too many launches and arrows to read them. They are left out; all other rows
  /// are read.
  bool withoutArrows = false;
  std::set<model::RunId> wanted;
  std::unordered_map<model::DeviceId, std::int32_t> deviceIndex;
  /// Lanes of each device that has some. Most chips of a large system have none.
  std::unordered_map<model::DeviceId, std::vector<const model::Lane*>> lanes;
  std::map<model::SegmentId, std::int32_t> segmentIndex;
  std::vector<model::DeviceId> segmentDevice;
  std::vector<std::vector<TracePlacement>> placements;  // placements of each device
  std::vector<std::vector<model::Wait>> waits;          // waits of each device
  std::unordered_map<model::DebugContextId, std::string> paths;
  Levels farPlacements, farWaits;                        // times in ticks of the axis
  std::unordered_map<std::int64_t, LaneNodes> farSteps;  // keyed by segment
  std::int32_t sampledDepth = 1;
};

// The loader calls these functions in this order. Each has a file of its own.
/// Reads placements, waits and transfers of the runs, or the nodes that stand for them.
base::Status readTraceRows(TraceDraft& draft);
/// Reads the steps of the segments that are placed in the window.
base::Status readTraceSteps(TraceDraft& draft);
/// Makes the tracks with their rows and lanes.
void layOutTrace(TraceDraft& draft);
/// Finds the iterations. It needs the tracks.
base::Status findTraceIterations(TraceDraft& draft);

}  // namespace pipescope::analysis
