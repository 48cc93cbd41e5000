// Reductions: each tile first reduces what it holds; where an output's elements lie on several tiles, the
// partial results meet on one in further stages. (Cycles: PopLibs popops and poplin, C.)
#include <algorithm>
#include <string>

#include "engine/devices/ipu/code_sizes.h"
#include "engine/devices/ipu/lowered_work.h"
#include "engine/devices/ipu/reduce_cost.h"
#include "engine/devices/ipu/rounding.h"

namespace pipescope::devices::ipu {
namespace {

/// What a tile reduces by itself.
struct LocalPart {
  std::int64_t outputs = 1, depth = 1;
};

LocalPart localPart(const ops::Reduce& work, std::int64_t elements) {
  LocalPart local;
  if (work.contiguous) {
    local.outputs = std::max<std::int64_t>(1, elements / work.depth);
    local.depth = std::min(work.depth, elements);
  } else {
    local.outputs = std::min(work.outputs, elements);
    local.depth = std::max<std::int64_t>(1, ceilDiv(elements, local.outputs));
  }
  return local;
}

std::int64_t localCycles(const Chip& chip, const ops::Reduce& work, const LocalPart& local) {
  const std::int64_t width = chip.vectorWidth(work.type);
  if (work.contiguous) {
    // An output costs 12 cycles and its elements as they load.
    const std::int64_t perWorker = ceilDiv(local.outputs * local.depth, chip.workers);
    return 33 + chip.workers * (20 + 12 * ceilDiv(local.outputs, chip.workers) + ceilDiv(perWorker, width));
  }
  const std::int64_t vectors = ceilDiv(ceilDiv(local.outputs, width), chip.workers);
  return 33 + chip.workers * (16 + vectors * (3 + 8 + 3 + local.depth - 1));
}

}  // namespace

base::Result<LoweredWork> lower(const ops::Reduce& work, const LoweringContext& context) {
  PIPESCOPE_TRY(checkComputes(work.type, context));
  PIPESCOPE_TRY(checkElements("number of elements to reduce", {work.outputs, work.depth}, context));
  const Chip& chip = context.chip;
  const std::int64_t bytes = graph::sizeOf(work.type);
  const bool half = isHalf(work.type);
  const std::string type = "popops::Reduce<" + work.function + (half ? ",half>" : ",float>");
  LoweredWork lowered;
  const TileRuns elements = spreadEvenly(chip, work.outputs * work.depth, bytes);
  const Spread spread = spreadOf(elements);
  const LocalPart local = localPart(work, spread.most);
  const std::size_t first = lowered.compute(
      chip, "Reduce/OnTile",
      transformed(elements, [&](std::int64_t n) { return localCycles(chip, work, localPart(work, n)); }),
      {type, kCodeReduce, kStateReduce, 4 * std::min<std::int64_t>(local.outputs, 64)});
  const std::int64_t parts = std::min(ceilDiv(work.depth, local.depth), spread.active);
  std::size_t from = first;
  TileRuns partials =
      transformed(elements, [&](std::int64_t n) { return localPart(work, n).outputs * bytes; });
  std::int64_t left = parts;
  for (const ReduceStage& cut : reduceStages(parts, parts)) {
    // Of each output `left` partial results remain after this stage, spread evenly again.
    left = ceilDiv(left, cut.depth);
    const TileRuns results = spreadEvenly(chip, work.outputs * left, bytes);
    const std::string name = "Reduce/Stage" + std::to_string(lowered.steps.size() / 2 + 1);
    const auto arriving = [&](std::int64_t n) { return n * cut.depth * bytes; };
    lowered.exchange(chip, name + "/Exchange", transformed(results, arriving), 1,
                     spreadOf(results).most * bytes);
    const auto cycles = [&](std::int64_t n) { return reduceCycles(chip, {cut.depth, n}, half, half); };
    const std::size_t last =
        lowered.compute(chip, name, transformed(results, cycles),
                        {"poplin::ReduceAdd", kCodeReduceAdd, kStateReduce, 4 * cut.depth});
    lowered.hold("Partials" + std::to_string(from), partials, from, last, Temporary::Place::ownElement);
    lowered.hold("Arriving" + std::to_string(last), transformed(results, arriving), last - 1, last + 1,
                 Temporary::Place::ownElement);
    partials = transformed(results, [&](std::int64_t n) { return n * bytes; });
    from = last;
  }
  return lowered;
}

}  // namespace pipescope::devices::ipu
