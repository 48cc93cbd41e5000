#include "engine/devices/ipu/reduce_cost.h"

#include <algorithm>
#include <cmath>

#include "engine/ops/core/rounding.h"

namespace pipescope::devices::ipu {

using ops::ceilDiv;
using ops::roundUp;
namespace {

/// The depths that remain after each stage but the last, and the messages that a tile receives. Takes that
/// one of the two whole numbers around the even cut which needs fewer messages.
struct ReduceCostCut {
  std::array<std::int64_t, 2> after{};
  std::size_t count = 0;
  double messages = 0;
};

ReduceCostCut cut(std::int64_t depth, int stages) {
  if (stages == 1) return {{}, 0, static_cast<double>(depth)};
  const auto below = static_cast<std::int64_t>(std::pow(static_cast<double>(depth), (stages - 1.0) / stages));
  const auto through = [&](std::int64_t after) {
    const ReduceCostCut rest = cut(after, stages - 1);
    ReduceCostCut whole{{after, rest.after[0]}, rest.count + 1, rest.messages};
    whole.messages += static_cast<double>(depth) / static_cast<double>(after);
    return whole;
  };
  const ReduceCostCut lower = through(below), upper = through(below + 1);
  return lower.messages < upper.messages ? lower : upper;
}

/// Cycles of a stage if the partials of an output lie in one piece of memory (C: PopLibs poplin).
std::int64_t singleInput(const Chip& chip, const ReduceStage& stage, bool halfPartials, bool halfOutput) {
  const std::int64_t vector = halfPartials ? 8 : 4;
  const std::int64_t loads = chip.vectorBytes / (halfPartials ? 2 : 4);
  const std::int64_t perLoop = std::max<std::int64_t>(1, vector / loads);
  const std::int64_t outer = halfPartials ? (halfOutput ? 9 : 10) : (halfOutput ? 7 : 8);
  const std::int64_t loops = ceilDiv(stage.outputs / vector, chip.workers);
  return 33 + chip.workers * (20 + (perLoop * (stage.depth - 1) + outer) * loops);
}

std::int64_t scatteredInputs(const Chip& chip, const ReduceStage& stage, bool halfPartials, bool halfOutput) {
  const std::int64_t vector = halfPartials ? 8 : 4;
  const std::int64_t loads = chip.vectorBytes / (halfPartials ? 2 : 4);
  const std::int64_t perLoop = std::max<std::int64_t>(1, vector / loads) + 1;
  std::int64_t loops = stage.outputs / vector;
  const std::int64_t rest = stage.outputs % vector;
  for (std::int64_t bits = rest; bits != 0; bits &= bits - 1) ++loops;
  std::int64_t perWorker = loops / chip.workers, cycles = 32;
  if (loops % chip.workers != 0) {
    if (rest != 0) {
      cycles += 2 * stage.depth + (halfPartials ? 11 : 13);
    } else {
      ++perWorker;
    }
  }
  const std::int64_t outer = (halfPartials ? 9 : 7) - (halfOutput ? 1 : 0);
  return chip.workers * (cycles + (perLoop * stage.depth + outer) * perWorker);
}

}  // namespace

ReduceStages reduceStages(std::int64_t depth, std::int64_t partials) {
  ReduceStages stages;
  if (depth <= 1) return stages;
  std::int64_t outputs = partials, remaining = depth;
  const auto add = [&](std::int64_t stageDepth) {
    outputs = ceilDiv(outputs, stageDepth);
    remaining = ceilDiv(remaining, stageDepth);
    stages.stage[stages.count++] = {stageDepth, outputs};
  };
  const ReduceCostCut plan = cut(depth, depth >= 125 ? 3 : depth >= 16 ? 2 : 1);
  for (std::size_t i = 0; i < plan.count; ++i) add(ceilDiv(remaining, plan.after[i]));
  if (remaining > 1) add(remaining);
  return stages;
}

std::int64_t reduceCycles(const Chip& chip, const ReduceStage& stage, bool halfPartials, bool halfOutput) {
  const std::int64_t vector = halfPartials ? 8 : 4;
  // The one-piece vertex needs whole vectors, and the memory elements of the arriving data must take less
  // than a sixteenth of the tile (C: poplin's checkPartialsSizeForSingleInputReduce).
  const std::int64_t arriving = (stage.depth - 1) * stage.outputs * (halfPartials ? 2 : 4);
  if (stage.outputs % vector == 0 && stage.depth > 1 &&
      roundUp(arriving, chip.elementBytes) < chip.bytesPerTile / 16) {
    return singleInput(chip, stage, halfPartials, halfOutput);
  }
  return scatteredInputs(chip, stage, halfPartials, halfOutput);
}

std::int64_t leastReduceCycles(const Chip& chip) {
  return 33 + 20 * chip.workers;
}

std::int64_t castVertexCycles(const Chip& chip, std::int64_t elements) {
  return 12 + chip.workers * (37 + ceilDiv(ceilDiv(elements, 4), chip.workers));
}

std::int64_t scatteredReduceCycles(const Chip& chip, const ReduceStage& stage, bool halfPartials,
                                   bool halfOutput) {
  return scatteredInputs(chip, stage, halfPartials, halfOutput);
}

}  // namespace pipescope::devices::ipu
