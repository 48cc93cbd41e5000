// Reductions. Each tile first reduces what it holds. If the elements of an output lie on several tiles, their
// partial results meet on one tile in further stages. (Cycles: PopLibs popops and poplin, C.)
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "engine/devices/ipu/code/code_sizes.h"
#include "engine/devices/ipu/lowered_work.h"
#include "engine/devices/ipu/reduce_cost.h"
#include "engine/ops/core/rounding.h"
#include "profiler/base/check.h"

namespace pipescope::devices::ipu {

using ops::ceilDiv;
namespace {

/// Partial results arrive in small pieces from many tiles, at 2.75 instead of 4 bytes a cycle (M: the halo
/// exchange of lbm-graphcore on a GC2 takes 100 cycles and 1 for each 2.75 bytes, because its edges have odd
/// sizes).
constexpr double kSmallPieces = 2.75 / 4;

/// Number of partial results per output from which on two stages add them. (R. The rule of popops,
/// ReductionPlan.cpp, makes up to four stages with at least 32 elements in a piece. It brings the median
/// error of reductions from 0.16 to 0.09 on an Mk2. But with our sizes of messages it takes 20 to 60 KiB more
/// of each tile in the training of ResNet-50 and BERT-Large, which fit on hardware and then would hardly or
/// not fit here.)
constexpr std::int64_t kTwoStages = 16;

/// Instructions that take a vector of elements into the results. (C: PopLibs' loops add, multiply, square and
/// add, or compare in one instruction. R: the position of an extremum is kept by the same number.)
constexpr std::int64_t instructionsPerVector(ops::ReduceFunction function) {
  using enum ops::ReduceFunction;
  switch (function) {
    case sum:
    case mean:
    case max:
    case min:
    case product:
    case absSum:
    case squareSum:
    case argmax:
    case argmin:
      return 1;
  }
  PIPESCOPE_CHECK(false, "a reduction that is not in the enumeration");
}

/// Part of a reduction that a tile does by itself: `outputs` results of `depth` elements each, which lie in
/// `pieces` pieces of memory.
struct LocalPart {
  std::int64_t outputs = 1, depth = 1, pieces = 1;
};

/// Elements lie in memory as [repeats][rows][run]. If contiguous, the run is reduced and the rows are kept;
/// otherwise it is the other way round.
LocalPart localPart(const ops::Reduce& work, std::int64_t elements) {
  const std::int64_t run = work.run > 0 ? work.run : work.contiguous ? work.depth : work.outputs;
  const std::int64_t rows = work.rows > 0 ? work.rows : work.contiguous ? work.outputs : work.depth;
  const std::int64_t inRun = std::min(run, elements), inRows = std::min(rows, ceilDiv(elements, inRun));
  const std::int64_t repeats = std::max<std::int64_t>(1, elements / (inRun * inRows));
  LocalPart local;
  local.outputs = work.contiguous ? inRows : inRun;
  local.depth = work.contiguous ? inRun : inRows;
  // Further repeats belong to the same results or to others, depending on which of the two the whole has more
  // of.
  const bool deeper = work.contiguous ? work.depth > run : work.outputs <= run;
  (deeper ? local.depth : local.outputs) *= repeats;
  local.depth = std::min(local.depth, work.depth);
  local.outputs = std::min(local.outputs, work.outputs);
  local.pieces =
      work.contiguous ? local.outputs * ceilDiv(local.depth, inRun) : ceilDiv(local.outputs, inRun);
  return local;
}

std::int64_t localCycles(const Chip& chip, const ops::Reduce& work, const LocalPart& local) {
  const std::int64_t width = chip.vectorWidth(work.type), instructions = instructionsPerVector(work.function);
  if (work.contiguous) {
    // A piece costs 12 cycles besides its vectors.
    const std::int64_t vectors = ceilDiv(ceilDiv(local.outputs * local.depth, local.pieces), width);
    const std::int64_t each = 12 + vectors * instructions;
    return 33 + chip.workers * (20 + each * ceilDiv(local.pieces, chip.workers));
  }
  const bool whole = local.depth >= work.depth;
  return scatteredReduceCycles(chip, {local.depth * instructions, local.outputs}, isHalf(work.type),
                               whole && isHalf(work.type));
}

/// The results of a stage on each tile. `parts` tiles add up shares of the same vector of outputs, so that no
/// tile adds all (C: PopLibs' intermediateToIntermediate deals these pieces to tiles in turn). A tile has
/// several pieces if there are more pieces than tiles.
TileRuns spreadPieces(const Chip& chip, std::int64_t outputs, std::int64_t parts, std::int64_t width) {
  const std::int64_t pieces = ceilDiv(outputs, width) * parts, tiles = std::min(chip.tiles, pieces);
  const std::int64_t each = pieces / tiles, more = pieces % tiles, piece = std::min(outputs, width);
  TileRuns runs;
  if (more > 0) runs.push_back({0, more, std::min(outputs * parts, (each + 1) * piece)});
  runs.push_back({more, tiles - more, std::min(outputs * parts, each * piece)});
  return runs;
}

}  // namespace

base::Result<LoweredWork> lower(const ops::Reduce& work, const IpuLoweringContext& context) {
  PIPESCOPE_TRY(checkComputes(work.type, context));
  PIPESCOPE_TRY(checkElements("number of elements to reduce", {work.outputs, work.depth}, context));
  const Chip& chip = context.chip;
  const std::int64_t bytes = graph::sizeOf(work.type);
  const bool half = isHalf(work.type);
  // A mean is a sum that the vertex scales at the end.
  const ops::ReduceFunction vertex =
      work.function == ops::ReduceFunction::mean ? ops::ReduceFunction::sum : work.function;
  const std::string type = std::string("popops::Reduce<") + toString(vertex) + (half ? ",half>" : ",float>");
  LoweredWork lowered;
  const TileRuns elements = spreadEvenly(chip, work.outputs * work.depth, bytes);
  const Spread spread = spreadOf(elements);
  const LocalPart local = localPart(work, spread.most);
  const std::int64_t parts = ceilDiv(work.depth, local.depth);
  // Partial sums of float16 are kept in float32 (C: PopLibs popops).
  std::int64_t partialBytes = parts > 1 ? std::max<std::int64_t>(4, bytes) : bytes;
  TileRuns partials;
  std::size_t from = 0;
  if (local.depth == 1 && parts > 1) {
    // No tile holds two elements of a result, so the elements are sent as they are.
    partialBytes = bytes;
    partials = transformed(elements, [&](std::int64_t n) { return n * bytes; });
  } else {
    from = lowered.compute(
        chip, "Reduce/OnTile",
        transformed(elements, [&](std::int64_t n) { return localCycles(chip, work, localPart(work, n)); }),
        {type, kCodeReduce, kStateReduce, 4 * std::min<std::int64_t>(local.outputs, 64)});
    partials =
        transformed(elements, [&](std::int64_t n) { return localPart(work, n).outputs * partialBytes; });
  }
  std::int64_t left = parts;
  // Many partial results meet in two stages of about equal depth (C: PopLibs popops), few in one.
  std::vector<std::int64_t> depths;
  if (parts >= kTwoStages) {
    depths.push_back(static_cast<std::int64_t>(std::ceil(std::sqrt(static_cast<double>(parts)))));
    depths.push_back(ceilDiv(parts, depths.front()));
  } else if (parts > 1) {
    depths.push_back(parts);
  }
  int stage = 0;
  for (const std::int64_t depth : depths) {
    // After this stage, `left` partial results of each output remain, spread evenly again.
    left = ceilDiv(left, depth);
    const TileRuns results = spreadPieces(chip, work.outputs, left, half ? 8 : 4);
    const std::string name = "Reduce/Stage" + std::to_string(++stage);
    const auto arriving = [&](std::int64_t n) { return n * depth * partialBytes; };
    const std::int64_t piece = spreadOf(results).most * partialBytes;
    lowered.exchange(chip, name + "/Exchange", transformed(results, arriving), kSmallPieces, piece);
    // Each partial result goes to the one tile that adds it, so most tiles send a piece and receive none.
    if (!lowered.steps.empty() && lowered.steps.back().kind == model::StepKind::exchange) {
      lowered.steps.back().messages = std::min(chip.tiles, depth);
      lowered.steps.back().senders =
          transformed(partials, [&](std::int64_t bytesHere) { return ceilDiv(bytesHere, piece); });
    }
    const auto cycles = [&](std::int64_t n) { return scatteredReduceCycles(chip, {depth, n}, half, half); };
    const std::size_t last = lowered.compute(chip, name, transformed(results, cycles),
                                             {"poplin::ReduceAdd", kCodeReduceAdd, kStateReduce, 4 * depth});
    // The operand itself is held by whoever made it.
    if (from > 0 || last > 1) lowered.hold("Partials" + std::to_string(from), partials, from, last);
    lowered.hold("Arriving" + std::to_string(last), transformed(results, arriving), last - 1, last + 1);
    partialBytes = parts > 1 ? std::max<std::int64_t>(4, bytes) : bytes;
    partials = transformed(results, [&](std::int64_t n) { return n * partialBytes; });
    from = last;
  }
  return lowered;
}

}  // namespace pipescope::devices::ipu
