#pragma once
// Spreads a table, and the rows picked from it, over tiles for gather and scatter. (Plan and cycles: PopLibs
// popops, C.)
#include <cstdint>

#include "engine/devices/ipu/chip.h"

namespace pipescope::devices::ipu {

/// The columns of a row are cut first, down to 4 bytes, because this needs no further exchange. The remaining
/// tiles cut the table, or the rows if there are many. Each of these parts then needs a copy of its part of
/// the table, or adds into a copy of its own. Gather and scatter use the same plan, so that a trained table
/// has one layout.
struct TileSlices {
  std::int64_t columnParts = 1, tableParts = 1, rowParts = 1;
  std::int64_t columns = 1;    ///< elements of a row on a tile
  std::int64_t tableRows = 1;  ///< rows of the table on a tile
  std::int64_t rows = 1;       ///< picked rows that a tile looks at

  std::int64_t tiles() const { return columnParts * tableParts * rowParts; }
  /// Bytes of the table on a tile.
  std::int64_t tableBytes(std::int64_t elementBytes) const { return tableRows * columns * elementBytes; }
};

/// Chooses how `rows` picked rows of `rowElements` elements, and a table of `tableRows` rows, are cut
/// over the tiles.
TileSlices planSlices(const Chip& chip, std::int64_t rows, std::int64_t rowElements, std::int64_t tableRows,
                      std::int64_t elementBytes);

/// Tile cycles of picking. Workers share the rows: a row in the tile's part costs its copy, any other row a
/// look.
std::int64_t gatherCycles(const Chip& chip, std::int64_t rows, std::int64_t inRange, std::int64_t vectors);
/// Tile cycles of adding or writing into the table. Rows may repeat, so every worker goes through all of them
/// for its share of the table.
std::int64_t scatterCycles(const Chip& chip, std::int64_t rows, std::int64_t vectors, bool accumulate);

}  // namespace pipescope::devices::ipu
