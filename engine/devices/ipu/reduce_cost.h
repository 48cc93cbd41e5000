#pragma once
// Cycles of reducing partial sums on one tile, and how a deep reduction is cut into stages.
#include <array>
#include <cstdint>

#include "engine/devices/ipu/chip.h"

namespace pipescope::devices::ipu {

/// One stage adds `depth` partial sums for each of `outputs` results on a tile.
struct ReduceStage {
  std::int64_t depth = 1, outputs = 0;
};

/// Holds at most three stages in order, in a fixed array, because the planner asks for very many.
struct ReduceStages {
  std::array<ReduceStage, 4> stage{};
  std::size_t count = 0;
  const ReduceStage* begin() const { return stage.data(); }
  const ReduceStage* end() const { return stage.data() + count; }
};

/// The stages of a reduction of `depth` partials, which lie on as many tiles with `partials` elements each:
/// one stage below 16, two below 125, else three. Their depths are about equal, which needs the fewest
/// messages (C: PopLibs poplin, reduce plan).
ReduceStages reduceStages(std::int64_t depth, std::int64_t partials);

/// Tile cycles of one stage (C: PopLibs poplin). `halfPartials` and `halfOutput` mean float16; otherwise it
/// is float32.
std::int64_t reduceCycles(const Chip& chip, const ReduceStage& stage, bool halfPartials, bool halfOutput);
/// A lower bound for the cycles of any stage.
std::int64_t leastReduceCycles(const Chip& chip);

/// The same if the partial sums lie scattered over memory, as in reductions that do not belong to a product.
std::int64_t scatteredReduceCycles(const Chip& chip, const ReduceStage& stage, bool halfPartials,
                                   bool halfOutput);

/// Tile cycles of the vertex that casts `elements` between float32 and float16, four at a time (C: PopLibs
/// popops).
std::int64_t castVertexCycles(const Chip& chip, std::int64_t elements);

}  // namespace pipescope::devices::ipu
