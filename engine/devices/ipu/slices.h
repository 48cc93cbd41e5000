#pragma once
// How a table and the rows picked from it are spread over tiles: for gather and scatter.
#include <cstdint>

#include "engine/devices/ipu/chip.h"

namespace pipescope::devices::ipu {

/// Columns of a row are cut first, because that needs no more exchange; tiles that are left cut the table.
struct SlicePlan {
  std::int64_t columnParts = 1, tableParts = 1;
  std::int64_t columns = 1;    ///< elements of a row on a tile
  std::int64_t tableRows = 1;  ///< rows of the table on a tile

  std::int64_t tiles() const { return columnParts * tableParts; }
};
SlicePlan planSlices(const Chip& chip, std::int64_t rowElements, std::int64_t tableRows,
                     std::int64_t elementBytes);

}  // namespace pipescope::devices::ipu
