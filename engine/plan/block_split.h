#pragma once
// Splits a model into stages of whole blocks by costs that are known, without compiling anything.
#include <cstdint>
#include <string>
#include <vector>

#include "engine/compiler/model_request.h"
#include "engine/plan/model_planner.h"
#include "profiler/base/result.h"

namespace pipescope::plan {

/// Costs of the blocks of a model in its order, in ticks of a micro-batch.
struct BlockCosts {
  std::vector<std::string> blocks;
  std::vector<std::int64_t> cost;   ///< forward and backward pass with host copies
  std::vector<std::int64_t> again;  ///< additional cost in a stage that recomputes
};

struct BlockSplit {
  compile::ModelRequest request;  ///< with LayoutRequest::stages instead of splitInto
  /// Device of each stage. Empty: the schedule's devices.
  std::vector<int> devices;
  std::vector<std::int64_t> stageCost;  ///< cost of each stage
};

/// Splits the request into LayoutRequest::splitInto stages of whole blocks, so that the longest one is as
/// short as possible. Stages that share a parameter share a device, unless each may have a copy
/// (compile::copiesWeights). With CutLevel::numberedBlocks, what comes before the numbered blocks stays in
/// the first stage, and what follows them in the last one. Refused: fewer blocks than stages, what the
/// schedule refuses, and parameters that it does not let stages share.
base::Result<BlockSplit> splitBlocks(const compile::ModelRequest& request, const BlockCosts& costs,
                                     CutLevel level);

/// Cost of the longest stage of such a split, where the last stage does not recompute. It asks no schedule.
std::int64_t longestOfBlocks(const BlockCosts& costs, std::size_t stages, bool recomputes);

}  // namespace pipescope::plan
