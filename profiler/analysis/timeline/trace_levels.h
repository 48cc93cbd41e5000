#pragma once
// What many rows look like from afar, out of the profile's LevelNodes; used by the loader of trace.h.
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "profiler/analysis/timeline/trace.h"

namespace pipescope::analysis {

/// Nodes of one level that stand for all rows of a kind, by owner (device, or segment of steps) and lane.
using Levels = std::map<std::pair<std::int64_t, model::LaneId>, std::vector<model::LevelNode>>;

/// Reads the nodes of `content` that `wanted` accepts, and keeps of each owner and lane the finest level that
/// has at most `most` of them. Nodes ascend and do not overlap: what would is cut short.
Result<Levels> readLevels(const model::ProfileSource& source, model::LevelContent content, std::size_t most,
                          const std::function<bool(const model::LevelNode&)>& wanted,
                          base::Progress& progress);

/// Placements and waits of one device as stretches in the colour of what it mostly does in them. Times of the
/// nodes are ticks of the axis.
struct FarActivities {
  std::vector<Activity> activities;
  std::vector<FarSpan> spans;
};
FarActivities farActivities(std::vector<model::LevelNode> placements,
                            const std::vector<model::LevelNode>& waits);

/// The steps of one lane as boxes without names.
FlameRow farRow(const std::vector<model::LevelNode>& nodes);

}  // namespace pipescope::analysis
