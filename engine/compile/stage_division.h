#pragma once
// Places the blocks of a model into stages on devices.
#include <map>
#include <string>
#include <vector>

#include "engine/graph/graph.h"
#include "profiler/base/result.h"

namespace pipescope::compile {

struct StageSpec {
  std::vector<std::string> blocks;  ///< names of blocks; a request may have patterns, too (block_pattern.h)
  int place = 0;
};

/// The blocks of a graph in the order in which forward nodes first name them.
std::vector<std::string> blocksOf(const graph::Graph& graph);

/// A parameter that stages at several places use. Each of these places keeps a copy of it.
struct TiedWeight {
  graph::TensorId parameter;
  std::vector<int> places;  ///< places that hold it, ascending
};
/// The tied weights of a graph, by parameter.
std::vector<TiedWeight> tiedWeights(const graph::Graph& graph, const std::vector<StageSpec>& stages);

/// Resolves the patterns of a request and checks it. Without a request, each block is a stage at the place
/// of its position. A `place` of −1 means the position of the stage. Refused, with the names of the block
/// and of both stages: a block in two stages, an unknown block, a block without a stage, an empty stage, data
/// that flows back to an earlier stage, and, unless places may keep copies of a weight, a parameter that
/// stages at different places use.
base::Result<std::vector<StageSpec>> placeStages(const graph::Graph& graph,
                                                 const std::vector<StageSpec>& asked, bool copies = false);

/// Block → stage index.
std::map<std::string, int> stageOfBlocks(const std::vector<StageSpec>& stages);

}  // namespace pipescope::compile
