#pragma once
// Links of an item of a timeline: the cause of a wait, the transfers of a pass, arrows between them.
#include <vector>

#include "profiler/geometry/timeline/timeline_scene.h"

namespace pipescope::geometry {

/// The pass whose end a wait waited for; none if it lies in another run or is the host.
TimelineItem waitedFor(const TimelineScene& scene, const TimelineItem& wait);

/// The transfers that brought a pass its input and took its output away, as indices into Trace::transfers.
std::vector<int> transfersOf(const TimelineScene& scene, const TimelineItem& pass);

/// Arrows that explain an item: a transfer, the input and output of a pass, or what a wait waited for.
std::vector<Arrow> arrowsOf(const TimelineScene& scene, const TimelineWindow& window,
                            const TimelineItem& item);

}  // namespace pipescope::geometry
