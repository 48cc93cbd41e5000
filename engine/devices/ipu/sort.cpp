// Sorting and top-k with a bitonic network. Each step compares and exchanges pairs. Pairs that are further
// apart than a tile's part of a row first meet by an exchange. (X: the steps of the network, each at the cost
// of a comparison in popops.)
#include <algorithm>
#include <bit>

#include "engine/devices/ipu/code/code_sizes.h"
#include "engine/devices/ipu/lowered_work.h"
#include "engine/ops/core/rounding.h"

namespace pipescope::devices::ipu {

using ops::ceilDiv;

base::Result<LoweredWork> lower(const ops::Sort& work, const IpuLoweringContext& context) {
  PIPESCOPE_TRY(checkComputes(work.type, context));
  PIPESCOPE_TRY(checkElements("number of elements to sort", {work.rows, work.rowElements}, context));
  PIPESCOPE_TRY(checkElements("number of elements to keep", {work.keep}, context));
  const Chip& chip = context.chip;
  const std::int64_t keep = std::min(work.keep, work.rowElements);
  // The number of steps: log2 steps sort runs of the kept length, then each halving takes as many steps.
  const auto log2 = [](std::int64_t n) {
    return static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(n - 1)));
  };
  const std::int64_t kept = std::max<std::int64_t>(1, log2(keep)),
                     rounds = log2(work.rowElements) - log2(keep);
  const std::int64_t steps = kept * (kept + 1) / 2 + rounds * (kept + 1);
  const std::int64_t bytes = graph::sizeOf(work.type);
  const TileRuns elements = spreadEvenly(chip, work.rows * work.rowElements, bytes);
  const std::int64_t local = std::max<std::int64_t>(1, log2(spreadOf(elements).most));
  const std::int64_t far =
      std::max<std::int64_t>(0, log2(work.rowElements) - local);  // distances that reach other tiles
  const std::int64_t moves = std::min(steps, far * (far + 1) / 2 + far * local);
  LoweredWork lowered;
  if (moves > 0) {
    lowered.exchange(chip, "Sort/Exchange", transformed(elements, [&](std::int64_t n) { return n * bytes; }),
                     1, 128);
    ProgramStep& exchange = lowered.steps.back();
    exchange.cycles =
        transformed(std::move(exchange.cycles), [&](std::int64_t cycles) { return cycles * moves; });
    exchange.sync *= moves;
    exchange.bytesIn *= moves;
    exchange.bytesOut *= moves;
  }
  const auto cycles = [&](std::int64_t n) {
    return steps * (11 + chip.workers * (29 + ceilDiv(ceilDiv(n, 4), chip.workers) * 14));
  };
  const std::size_t last = lowered.compute(chip, "Sort/CompareAndSwap", transformed(elements, cycles),
                                           {"popops::CompareAndSwapAtDistance", kCodeSort, kStateSimple, 0});
  lowered.steps[last].sync *= steps;
  lowered.hold("Sort", transformed(elements, [&](std::int64_t n) { return 2 * n * bytes; }), 0,
               lowered.steps.size());
  return lowered;
}

}  // namespace pipescope::devices::ipu
