#pragma once
// Lays out the addresses of each tile: which category lies in which region, and the gaps.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/devices/core/device_family.h"
#include "engine/devices/ipu/chip.h"
#include "engine/devices/ipu/memory/tile_runs.h"

namespace pipescope::devices::ipu {

/// The most bytes that are live at once on each tile, of what is not always live.
struct TilePeaks {
  explicit TilePeaks(std::size_t tiles) : all(tiles), wide(tiles), own(tiles), another(tiles) {}
  std::vector<std::int64_t> all;      ///< bytes of everything together
  std::vector<std::int64_t> wide;     ///< bytes that must lie in interleaved memory
  std::vector<std::int64_t> own;      ///< bytes that may lie anywhere but need a memory element of their own
  std::vector<std::int64_t> another;  ///< bytes that need a memory element besides that
};

struct TileLayout {
  std::vector<UnitBytesRun> units;
  std::int64_t overflowingTiles = 0, overflowBytes = 0;
  TileRuns overflowing;                        ///< the same tiles as runs
  std::int64_t worstTile = 0, worstBytes = 0;  ///< gaps included

  /// Adds the next tile that lacks memory. Neighbouring tiles become one run, whose value is their largest.
  void addOverflow(std::int64_t tile, std::int64_t bytes);
};

/// Bytes that one category holds on each tile all the time, and the part of them that must lie in interleaved
/// memory.
struct TileCategory {
  std::vector<std::int64_t> bytes, wide;
};

/// Lays out each tile as profiler/model/unit_pools.h does, with the always-live categories by name.
TileLayout layOutTiles(const Chip& chip, const std::map<std::string, TileCategory>& alwaysLive,
                       const TilePeaks& peaks);

}  // namespace pipescope::devices::ipu
