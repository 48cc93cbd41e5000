#pragma once
// Which stage and device each block of a model is on.
#include <map>
#include <string>
#include <vector>

#include "engine/graph/graph.h"
#include "profiler/base/result.h"

namespace pipescope::compile {

struct StageSpec {
  std::vector<std::string> blocks;  ///< asked for: also patterns (block_pattern.h)
  int device = 0;
};

/// Blocks in the order in which the forward nodes first name them.
std::vector<std::string> blocksOf(const graph::Graph& graph);

/// Stages as asked for; none asked for: each block is a stage on the device of its position. `device` −1: the
/// stage's position. Refused, with the block and both stages named: a block in two stages, a block that the
/// model does not have, a block without stage, an empty stage, stages that do not ascend along the data flow,
/// parameters used in two stages on different devices.
base::Result<std::vector<StageSpec>> placeStages(const graph::Graph& graph,
                                                 const std::vector<StageSpec>& asked);

/// Block → stage index.
std::map<std::string, int> stageOfBlocks(const std::vector<StageSpec>& stages);

}  // namespace pipescope::compile
