#pragma once
// Lays graphs out with Graphviz' program dot.
#include <QString>
#include <optional>
#include <vector>

#include "profiler/geometry/graph_layout.h"

namespace pipescope::pages {

/// The path of dot on this computer; empty: it is not installed. For workers, because it searches the disk.
QString dotProgram();

/// Runs `program` in a process of its own, because Graphviz' library can neither be cancelled nor used by
/// several threads. None if it does not end in time, fails, or prints what cannot be read; layOutGraph() then
/// does without it. For workers.
std::optional<geometry::GraphLayout> dotLayout(const QString& program,
                                               const std::vector<geometry::GraphSize>& nodes,
                                               const std::vector<geometry::GraphArc>& arcs, int milliseconds);

}  // namespace pipescope::pages
