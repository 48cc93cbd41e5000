#pragma once
// Cycles of reductions of partial sums on one tile, and how a deep one is cut into stages.
#include <array>
#include <cstdint>

#include "engine/devices/ipu/chip.h"

namespace pipescope::devices::ipu {

/// One stage: `depth` partial sums are added for each of `outputs` results on a tile.
struct ReduceStage {
  std::int64_t depth = 1, outputs = 0;
};

/// At most three, first to last; without an allocation, because the planner asks for very many.
struct ReduceStages {
  std::array<ReduceStage, 4> stage{};
  std::size_t count = 0;
  const ReduceStage* begin() const { return stage.data(); }
  const ReduceStage* end() const { return stage.data() + count; }
};

/// Stages of a reduction of `depth` partials over as many tiles, `partials` elements on each: one stage below
/// 16, two below 125, else three, each of about equal depth, so that fewer messages are needed (C: PopLibs
/// poplin, reduce plan).
ReduceStages reduceStages(std::int64_t depth, std::int64_t partials);

/// Tile cycles of one stage (C: PopLibs poplin). `halfPartials`, `halfOutput`: float16, else float32.
std::int64_t reduceCycles(const Chip& chip, const ReduceStage& stage, bool halfPartials, bool halfOutput);
/// No stage takes fewer.
std::int64_t leastReduceCycles(const Chip& chip);

/// The same where partial sums lie scattered over memory, as in reductions that are not of a product.
std::int64_t scatteredReduceCycles(const Chip& chip, const ReduceStage& stage, bool halfPartials,
                                   bool halfOutput);

/// Tile cycles of the vertex that changes the type of `elements` from float32 to float16 or back: four at a
/// time (C: PopLibs popops).
std::int64_t castVertexCycles(const Chip& chip, std::int64_t elements);

}  // namespace pipescope::devices::ipu
