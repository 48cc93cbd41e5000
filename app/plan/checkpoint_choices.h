#pragma once
// Lists the results that a plan may keep where the rest is computed again.
#include <string>
#include <vector>

namespace pipescope::graph {
class Graph;
}

namespace pipescope::app {

/// Values of execution.checkpoints to try: the results of all blocks, then those of every second block.
/// Empty: the model has fewer than two blocks.
std::vector<std::string> checkpointChoices(const graph::Graph& forward);

}  // namespace pipescope::app
