#pragma once
// Reads LevelNodes, which stand for many rows, for the loader of trace.h.
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "profiler/analysis/timeline/trace.h"

namespace pipescope::analysis {

/// Nodes of one level, by owner (a device, or a segment for steps) and lane.
using Levels = std::map<std::pair<std::int64_t, model::LaneId>, std::vector<model::LevelNode>>;

/// Reads the nodes of `content` that `wanted` accepts. Keeps the finest level of each owner and lane that has
/// at most `most` nodes. The nodes ascend; a node that overlaps the next one is cut.
Result<Levels> readLevels(const model::ProfileSource& source, model::LevelContent content, std::size_t most,
                          const std::function<bool(const model::LevelNode&)>& wanted,
                          base::Progress& progress);

/// Placements and waits of one device as spans, each with the pass that fills most of it. Times of the nodes
/// are ticks of the axis.
struct FarActivities {
  std::vector<Activity> activities;
  std::vector<FarSpan> spans;
};
/// Makes them from the nodes of one device's placements and waits.
FarActivities farActivities(std::vector<model::LevelNode> placements,
                            const std::vector<model::LevelNode>& waits);

/// The steps of one lane as boxes without names.
FlameRow farRow(const std::vector<model::LevelNode>& nodes);

}  // namespace pipescope::analysis
