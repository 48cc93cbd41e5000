#include "engine/devices/ipu/memory/tile_layout.h"

#include <algorithm>
#include <array>

#include "profiler/model/unit_pools.h"

namespace pipescope::devices::ipu {
namespace {

using RegionBytes = std::array<std::int64_t, model::kUnitRegions>;

/// The bytes of one category in each region, tile after tile, as runs.
class Category {
 public:
  Category(std::string name, bool alwaysLive) : name_(std::move(name)), alwaysLive_(alwaysLive) {}

  void add(std::int64_t tile, const RegionBytes& bytes) {
    for (std::size_t region = 0; region < model::kUnitRegions; ++region) {
      if (bytes[region] == 0) continue;
      std::vector<UnitBytesRun>& runs = runs_[region];
      if (!runs.empty() && runs.back().firstUnit + runs.back().unitCount == tile &&
          runs.back().bytes.count == bytes[region]) {
        ++runs.back().unitCount;
      } else {
        runs.push_back({name_, nameOf(static_cast<model::UnitRegion>(region)), alwaysLive_, tile, 1,
                        Bytes(bytes[region])});
      }
    }
  }
  /// The tile holds as much as the one before it.
  void addAsBefore(std::int64_t tile) {
    for (std::vector<UnitBytesRun>& runs : runs_) {
      if (!runs.empty() && runs.back().firstUnit + runs.back().unitCount == tile) ++runs.back().unitCount;
    }
  }
  void appendTo(std::vector<UnitBytesRun>& units) const {
    for (const auto& runs : runs_) units.insert(units.end(), runs.begin(), runs.end());
  }

 private:
  std::string name_;
  bool alwaysLive_;
  std::vector<UnitBytesRun> runs_[model::kUnitRegions];
};

}  // namespace

void TileLayout::addOverflow(std::int64_t tile, std::int64_t bytes) {
  ++overflowingTiles;
  overflowBytes += bytes;
  if (!overflowing.empty() && overflowing.back().first + overflowing.back().count == tile) {
    ++overflowing.back().count;
    overflowing.back().value = std::max(overflowing.back().value, bytes);
  } else {
    overflowing.push_back({tile, 1, bytes});
  }
}

TileLayout layOutTiles(const Chip& chip, const std::map<std::string, TileCategory>& alwaysLive,
                       const TilePeaks& peaks) {
  std::vector<Category> categories;
  std::vector<const TileCategory*> amounts;
  for (const auto& [name, tiles] : alwaysLive) {
    categories.emplace_back(name, true);
    amounts.push_back(&tiles);
  }
  Category shared("variable", false), gap("gap", false);
  TileLayout layout;
  // Reuses the last layout, because most tiles hold what their neighbour holds.
  const auto asBefore = [&](std::size_t i) {
    return i > 0 && peaks.all[i] == peaks.all[i - 1] && peaks.wide[i] == peaks.wide[i - 1] &&
           peaks.own[i] == peaks.own[i - 1] && peaks.another[i] == peaks.another[i - 1] &&
           std::all_of(amounts.begin(), amounts.end(), [i](const TileCategory* tiles) {
             return tiles->bytes[i] == tiles->bytes[i - 1] && tiles->wide[i] == tiles->wide[i - 1];
           });
  };
  const model::UnitShape shape{chip.bytesPerTile, chip.interleavedStart, chip.elementBytes};
  std::int64_t over = 0;
  for (std::int64_t tile = 0; tile < chip.tiles; ++tile) {
    const auto i = static_cast<std::size_t>(tile);
    if (asBefore(i)) {
      for (Category& category : categories) category.addAsBefore(tile);
      shared.addAsBefore(tile);
      gap.addAsBefore(tile);
      if (over > 0) layout.addOverflow(tile, over);
      continue;
    }
    model::UnitDemand demand{{}, peaks.all[i], peaks.wide[i], peaks.own[i], peaks.another[i], {}};
    for (const TileCategory* tiles : amounts) {
      demand.alwaysLive.push_back(tiles->bytes[i]);
      demand.alwaysInterleaved.push_back(tiles->wide[i]);
    }
    std::vector<RegionBytes> here(categories.size());
    RegionBytes sharedHere{}, gaps{};
    std::int64_t end = 0;
    over = 0;
    for (const model::UnitPool& pool : unitPools(shape, demand)) {
      using Use = model::UnitPool::Use;
      RegionBytes& bytes = pool.use == Use::alwaysLive ? here[pool.index]
                           : pool.use == Use::gap      ? gaps
                                                       : sharedHere;
      bytes[static_cast<std::size_t>(pool.region)] += pool.bytes;
      end = std::max(end, pool.from + pool.bytes);
      if (pool.region == model::UnitRegion::overflowed) over += pool.bytes;
    }
    for (std::size_t c = 0; c < categories.size(); ++c) categories[c].add(tile, here[c]);
    shared.add(tile, sharedHere);
    gap.add(tile, gaps);
    if (over > 0) layout.addOverflow(tile, over);
    if (end > layout.worstBytes) {
      layout.worstBytes = end;
      layout.worstTile = tile;
    }
  }
  for (const Category& category : categories) category.appendTo(layout.units);
  shared.appendTo(layout.units);
  gap.appendTo(layout.units);
  return layout;
}

}  // namespace pipescope::devices::ipu
