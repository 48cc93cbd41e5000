#pragma once
// A layered drawing of a graph: each edge leads down, and edges cross as little as a few sweeps achieve
// (the method of Sugiyama: ranks by longest path, order by barycentres, positions by medians).
#include <cstddef>
#include <vector>

#include "profiler/geometry/shapes.h"

namespace pipescope::geometry {

struct GraphSize {
  int width = 0, height = 0;
};
struct GraphArc {
  std::size_t from = 0, to = 0;
};

struct GraphLayout {
  std::vector<Box> boxes;  ///< one for each node
  /// The points of each arc, from the lower edge of its first box to the upper edge of its last one. An arc
  /// that closes a circle is drawn against its direction; then its points lead from `to` to `from`.
  std::vector<std::vector<std::pair<int, int>>> arcs;
  int width = 0, height = 0;
};

/// Arcs whose ends are equal are left out: they have no points.
GraphLayout layOutGraph(const std::vector<GraphSize>& nodes, const std::vector<GraphArc>& arcs);

}  // namespace pipescope::geometry
