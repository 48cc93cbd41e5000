#pragma once
// How a table and the rows picked from it are spread over tiles: for gather and scatter. (Plan and cycles:
// PopLibs popops, C.)
#include <cstdint>

#include "engine/devices/ipu/chip.h"

namespace pipescope::devices::ipu {

/// Columns of a row are cut first, because that needs no more exchange, down to 4 bytes. Tiles that are left
/// cut the table, or the rows where there are many of them: each of those parts then needs a copy of its part
/// of the table, or adds into one of its own. One plan serves gather and scatter, so that a table that is
/// trained has one layout.
struct SlicePlan {
  std::int64_t columnParts = 1, tableParts = 1, rowParts = 1;
  std::int64_t columns = 1;    ///< elements of a row on a tile
  std::int64_t tableRows = 1;  ///< rows of the table on a tile
  std::int64_t rows = 1;       ///< picked rows that a tile looks through

  std::int64_t tiles() const { return columnParts * tableParts * rowParts; }
  /// Bytes of the table's part on a tile.
  std::int64_t tableBytes(std::int64_t elementBytes) const { return tableRows * columns * elementBytes; }
};

SlicePlan planSlices(const Chip& chip, std::int64_t rows, std::int64_t rowElements, std::int64_t tableRows,
                     std::int64_t elementBytes);

/// Tile cycles of picking: workers share the rows; one in the tile's part costs its copy, any other a look.
std::int64_t gatherCycles(const Chip& chip, std::int64_t rows, std::int64_t inRange, std::int64_t vectors);
/// Tile cycles of adding (or writing) into the table: rows may repeat, so every worker goes through all of
/// them for its share of the table.
std::int64_t scatterCycles(const Chip& chip, std::int64_t rows, std::int64_t vectors, bool accumulate);

}  // namespace pipescope::devices::ipu
