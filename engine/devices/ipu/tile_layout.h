#pragma once
// Addresses on each tile: what of each category lies in which region, and the gaps.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/devices/core/device_family.h"
#include "engine/devices/ipu/chip.h"
#include "engine/devices/ipu/tile_runs.h"

namespace pipescope::devices::ipu {

/// Most bytes that are live at once on each tile, of what is not always live.
struct TilePeaks {
  explicit TilePeaks(std::size_t tiles) : all(tiles), wide(tiles), own(tiles) {}
  std::vector<std::int64_t> all;   ///< together
  std::vector<std::int64_t> wide;  ///< must lie in interleaved memory
  std::vector<std::int64_t> own;   ///< of those that may lie anywhere: needs a memory element of its own
};

struct TileLayout {
  std::vector<UnitRun> units;
  std::int64_t overflowingTiles = 0, overflowBytes = 0;
  TileRuns overflowing;                        ///< these tiles as runs
  std::int64_t worstTile = 0, worstBytes = 0;  ///< gaps included

  /// Notes the next tile that does not suffice; runs join neighbours, whose values are the most of them.
  void addOverflow(std::int64_t tile, std::int64_t bytes);
};

/// Per tile from address 0: always-live categories by name, then what shares addresses, with what needs a
/// memory element of its own from the next element on; from the start of interleaved memory what needs that,
/// then what spilled over; past the tile's end what overflows. Interleaved memory is free for anything while
/// nothing that needs it is live, so that a tile takes no more than the most that lives at once.
TileLayout layOutTiles(const Chip& chip, const std::map<std::string, std::vector<std::int64_t>>& alwaysLive,
                       const TilePeaks& peaks);

}  // namespace pipescope::devices::ipu
