#pragma once
// Division of the operands of a product among tiles if they are laid out for it (C: PopLibs,
// Convolution.cpp, mapActivationsOrWeights). A piece that one tile uses lies there. A piece that several
// tiles use is divided among them in whole groups of channels.
#include <cstdint>

#include "engine/devices/ipu/memory/tile_runs.h"
#include "engine/devices/ipu/products/planner.h"

namespace pipescope::devices::ipu {

/// A piece of so many grains, divided among some of the tiles that use it.
struct DividedPiece {
  std::int64_t holders = 0;  ///< tiles that hold a part
  std::int64_t least = 0;    ///< grains of the smaller parts
  std::int64_t larger = 0;   ///< parts that have one grain more
};
/// As few of the `users` hold a part as is possible without a part that is larger than an even share, and
/// each part has at least `leastBytes` if the piece is so large. (C: PopLibs, poputil/Util.cpp,
/// splitRegions.)
DividedPiece dividePiece(std::int64_t grains, std::int64_t users, std::int64_t grainBytes,
                         std::int64_t leastBytes);

/// Bytes of the input on each tile, and of the weights. They are shares of the operand of the plan's form,
/// whose channels may be padded. Weights are divided from the last of the tiles that use them, inputs from
/// the first.
TileRuns inputShares(const ContractionPlan& plan);
TileRuns weightShares(const ContractionPlan& plan);

}  // namespace pipescope::devices::ipu
