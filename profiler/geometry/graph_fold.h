#pragma once
// Folds a tall graph into columns side by side, so that a long chain of layers fits on a wide canvas.
#include <vector>

#include "profiler/geometry/graph_layout.h"

namespace pipescope::geometry {

/// Returns the layout in as many columns as fit best where `aspect` is width ÷ height of the canvas.
/// `regions` has a number for each box; columns preferably end where a region ends. A flat graph is returned
/// unchanged.
GraphLayout foldTallGraph(GraphLayout layout, const std::vector<int>& regions, double aspect);

}  // namespace pipescope::geometry
