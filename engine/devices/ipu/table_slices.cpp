#include "engine/devices/ipu/table_slices.h"

#include <algorithm>
#include <limits>

#include "engine/ops/core/rounding.h"

namespace pipescope::devices::ipu {

using ops::ceilDiv;
namespace {

/// The cost of gather and scatter on a tile, with the copies and sums of a table in parts.
std::int64_t costOf(const Chip& chip, const TileSlices& plan, std::int64_t elementBytes) {
  const std::int64_t vectors = ceilDiv(plan.columns * elementBytes, chip.vectorBytes);
  const std::int64_t table = plan.tableBytes(elementBytes), rows = plan.rows * plan.columns * elementBytes;
  const auto exchange = [&](std::int64_t bytes) {
    return static_cast<std::int64_t>(static_cast<double>(bytes) / chip.exchangeBytesPerCycle);
  };
  const std::int64_t inRange = ceilDiv(plan.rows, plan.tableParts);
  std::int64_t cost = gatherCycles(chip, plan.rows, inRange, vectors) +
                      scatterCycles(chip, plan.rows, vectors, true) + exchange(rows);
  if (plan.tableParts > 1) cost += exchange(rows) + gatherCycles(chip, inRange, inRange, vectors);
  if (plan.rowParts > 1) cost += 3 * exchange(table);
  return cost;
}

}  // namespace

std::int64_t gatherCycles(const Chip& chip, std::int64_t rows, std::int64_t inRange, std::int64_t vectors) {
  const std::int64_t mine = ceilDiv(inRange, chip.workers), others = ceilDiv(rows - inRange, chip.workers);
  return chip.workers * (30 + (19 + 2 * vectors) * mine + 8 * others);
}

std::int64_t scatterCycles(const Chip& chip, std::int64_t rows, std::int64_t vectors, bool accumulate) {
  return chip.workers * (33 + (12 + (accumulate ? 3 : 2) * vectors) * rows);
}

TileSlices planSlices(const Chip& chip, std::int64_t rows, std::int64_t rowElements, std::int64_t tableRows,
                      std::int64_t elementBytes) {
  TileSlices plan;
  const std::int64_t grain = std::max<std::int64_t>(1, chip.vectorBytes / 2 / elementBytes);
  const std::int64_t grains = ceilDiv(rowElements, grain);
  plan.columns = ceilDiv(grains, std::min(grains, chip.tiles)) * grain;
  plan.columnParts = ceilDiv(rowElements, plan.columns);
  const std::int64_t left = std::max<std::int64_t>(1, chip.tiles / plan.columnParts);
  TileSlices best;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (std::int64_t parts = 1; parts <= std::min(left, rows); ++parts) {
    plan.rows = ceilDiv(rows, parts);
    plan.rowParts = ceilDiv(rows, plan.rows);
    if (plan.rowParts != parts) continue;
    plan.tableRows = ceilDiv(tableRows, std::min(tableRows, left / parts));
    plan.tableParts = ceilDiv(tableRows, plan.tableRows);
    const std::int64_t cost = costOf(chip, plan, elementBytes);
    // Copies of the table's part must not be larger than the rows picked from it.
    if (parts > 1 && plan.tableRows > plan.rows) continue;
    if (cost < least) {
      least = cost;
      best = plan;
    }
  }
  return best;
}

}  // namespace pipescope::devices::ipu
