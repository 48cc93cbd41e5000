#include "engine/devices/ipu/tile_layout.h"

#include <algorithm>

#include "engine/devices/ipu/rounding.h"

namespace pipescope::devices::ipu {
namespace {

constexpr const char* kRegions[] = {"non_interleaved", "interleaved", "overflowed"};

/// The room left in the regions of one tile.
struct Room {
  std::int64_t left[3];

  /// Takes room from region `from` on, and adds what each region gives to `given`.
  void take(std::int64_t bytes, std::size_t from, std::int64_t (&given)[3]) {
    for (std::size_t region = from; region < 3 && bytes > 0; ++region) {
      const std::int64_t here = std::min(bytes, left[region]);
      left[region] -= here;
      given[region] += here;
      bytes -= here;
    }
  }
};

/// The bytes of one category in each region, tile after tile, as runs.
class Category {
 public:
  Category(std::string name, bool alwaysLive) : name_(std::move(name)), alwaysLive_(alwaysLive) {}

  void add(std::int64_t tile, const std::int64_t (&bytes)[3]) {
    for (std::size_t region = 0; region < 3; ++region) {
      if (bytes[region] == 0) continue;
      std::vector<UnitBytesRun>& runs = runs_[region];
      if (!runs.empty() && runs.back().firstUnit + runs.back().unitCount == tile &&
          runs.back().bytes.count == bytes[region]) {
        ++runs.back().unitCount;
      } else {
        runs.push_back({name_, kRegions[region], alwaysLive_, tile, 1, Bytes(bytes[region])});
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
  std::vector<UnitBytesRun> runs_[3];
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

TileLayout layOutTiles(const Chip& chip, const std::map<std::string, std::vector<std::int64_t>>& alwaysLive,
                       const TilePeaks& peaks) {
  std::vector<Category> categories;
  std::vector<const std::vector<std::int64_t>*> amounts;
  for (const auto& [name, tiles] : alwaysLive) {
    categories.emplace_back(name, true);
    amounts.push_back(&tiles);
  }
  Category shared("variable", false), gap("gap", false);
  TileLayout layout;
  // Reuses the last layout, because most tiles hold what their neighbour holds.
  const auto asBefore = [&](std::size_t i) {
    return i > 0 && peaks.all[i] == peaks.all[i - 1] && peaks.wide[i] == peaks.wide[i - 1] &&
           peaks.own[i] == peaks.own[i - 1] &&
           std::all_of(amounts.begin(), amounts.end(),
                       [i](const auto* tiles) { return (*tiles)[i] == (*tiles)[i - 1]; });
  };
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
    Room room{{chip.interleavedStart, chip.bytesPerTile - chip.interleavedStart, INT64_MAX / 2}};
    std::int64_t sharedHere[3] = {0, 0, 0};
    room.take(peaks.wide[i], 1, sharedHere);
    const std::int64_t low = std::max(peaks.own[i], peaks.all[i] - peaks.wide[i]);
    for (std::size_t c = 0; c < categories.size(); ++c) {
      std::int64_t here[3] = {0, 0, 0};
      room.take((*amounts[c])[i], 0, here);
      categories[c].add(tile, here);
    }
    room.take(low - peaks.own[i], 0, sharedHere);
    std::int64_t gaps[3] = {0, 0, 0};
    const std::int64_t below = chip.interleavedStart - room.left[0];
    const std::int64_t skip = roundUp(below, chip.elementBytes) - below;
    if (peaks.own[i] > 0 && skip + peaks.own[i] <= room.left[0]) room.take(skip, 0, gaps);
    room.take(peaks.own[i], 0, sharedHere);
    const std::int64_t above = chip.bytesPerTile - chip.interleavedStart - room.left[1];
    over = INT64_MAX / 2 - room.left[2];
    if (above > 0) room.take(room.left[0], 0, gaps);
    shared.add(tile, sharedHere);
    gap.add(tile, gaps);
    const std::int64_t end =
        above > 0 ? chip.interleavedStart + above + over : chip.interleavedStart - room.left[0];
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
