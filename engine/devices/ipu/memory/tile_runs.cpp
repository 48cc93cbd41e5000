#include "engine/devices/ipu/memory/tile_runs.h"

#include <algorithm>

#include "engine/ops/core/rounding.h"

namespace pipescope::devices::ipu {

using ops::ceilDiv;
using ops::roundUp;

Spread spreadOf(const TileRuns& runs) {
  Spread spread;
  for (const TileRun& run : runs) {
    if (run.value <= 0) continue;
    spread.least = spread.active == 0 ? run.value : std::min(spread.least, run.value);
    spread.most = std::max(spread.most, run.value);
    spread.active += run.count;
    spread.total += run.count * run.value;
  }
  return spread;
}

void addTo(std::vector<std::int64_t>& tiles, const TileRuns& runs, std::int64_t sign) {
  for (const TileRun& run : runs) {
    for (std::int64_t tile = run.first; tile < run.first + run.count; ++tile)
      tiles[static_cast<std::size_t>(tile)] += sign * run.value;
  }
}

TileRuns toRuns(const std::vector<std::int64_t>& tiles) {
  TileRuns runs;
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    if (!runs.empty() && runs.back().value == tiles[i]) {
      ++runs.back().count;
    } else {
      runs.push_back({static_cast<std::int64_t>(i), 1, tiles[i]});
    }
  }
  return runs;
}

TileRuns spreadEvenly(const Chip& chip, std::int64_t elements, std::int64_t elementBytes) {
  if (elements <= 0) return {};
  const std::int64_t grain = std::max<std::int64_t>(1, chip.vectorBytes / elementBytes);
  const std::int64_t least = ceilDiv(128, elementBytes);
  const std::int64_t share = roundUp(std::max(ceilDiv(elements, chip.tiles), least), grain);
  const std::int64_t whole = elements / share, rest = elements % share;
  TileRuns runs;
  if (whole > 0) runs.push_back({0, whole, share});
  if (rest > 0) runs.push_back({whole, 1, rest});
  return runs;
}

TileRuns rotated(const TileRuns& runs, std::int64_t offset, std::int64_t tiles) {
  TileRuns moved;
  for (const TileRun& run : runs) {
    const std::int64_t first = (run.first + offset) % tiles;
    const std::int64_t before = std::min(run.count, tiles - first);
    moved.push_back({first, before, run.value});
    if (before < run.count) moved.push_back({0, run.count - before, run.value});
  }
  std::sort(moved.begin(), moved.end(), [](const TileRun& a, const TileRun& b) { return a.first < b.first; });
  TileRuns joined;
  for (const TileRun& run : moved) {
    TileRun* last = joined.empty() ? nullptr : &joined.back();
    if (last && last->value == run.value && last->first + last->count == run.first) {
      last->count += run.count;
    } else {
      joined.push_back(run);
    }
  }
  return joined;
}

}  // namespace pipescope::devices::ipu
