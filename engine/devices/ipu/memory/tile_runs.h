#pragma once
// A number for each tile, as runs of equal neighbours.
#include <cstdint>
#include <vector>

#include "engine/devices/ipu/chip.h"

namespace pipescope::devices::ipu {

/// Tiles first … first + count − 1 have `value`.
struct TileRun {
  std::int64_t first = 0, count = 0, value = 0;
};
/// Ascending and without overlap. Tiles that are not named have 0.
using TileRuns = std::vector<TileRun>;

struct Spread {
  std::int64_t active = 0;  ///< tiles with a value above 0
  std::int64_t least = 0;   ///< the least value of these
  std::int64_t most = 0, total = 0;
};
/// Sums up the values of all tiles.
Spread spreadOf(const TileRuns& runs);

/// The same tiles with f(value).
template <class F>
TileRuns transformed(TileRuns runs, F f) {
  for (TileRun& run : runs) run.value = f(run.value);
  return runs;
}

/// Adds the values to those of the tiles.
void addTo(std::vector<std::int64_t>& tiles, const TileRuns& runs, std::int64_t sign = 1);
/// Joins neighbouring tiles of equal values, from tile 0 on.
TileRuns toRuns(const std::vector<std::int64_t>& tiles);

/// Elements of a tensor on each tile, from tile 0 on: even shares of whole vectors, but at least 128 bytes on
/// a tile. (Rule: poputil's mapTensorLinearly, C.)
TileRuns spreadEvenly(const Chip& chip, std::int64_t elements, std::int64_t elementBytes);

/// `runs` moved up by `offset` tiles; those beyond the last tile continue at tile 0.
TileRuns rotated(const TileRuns& runs, std::int64_t offset, std::int64_t tiles);

}  // namespace pipescope::devices::ipu
