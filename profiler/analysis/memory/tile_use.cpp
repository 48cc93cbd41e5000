#include "profiler/analysis/memory/tile_use.h"

#include <algorithm>
#include <tuple>

#include "profiler/base/wrapping.h"

namespace pipescope::analysis {
namespace {

constexpr const char* kTileMemoryGap = "gap";
/// Columns of a step and of a placement, in the order of their fields.
constexpr std::size_t kProgramColumn = 5, kSegmentColumn = 1, kRunColumn = 5;

/// The units of a row, limited to those that the space has, because a file may claim others.
std::pair<std::int64_t, std::int64_t> tileMemoryUnitsOf(const model::UnitMemory& row, std::int64_t units) {
  const std::int64_t first = std::clamp<std::int64_t>(row.firstUnit, 0, units);
  return {first, std::clamp<std::int64_t>(row.unitCount, 0, units - first) + first};
}

}  // namespace

Result<std::map<std::string, std::vector<std::int64_t>>> unitUseByRegion(const model::ProfileSource& source,
                                                                         const Catalog& catalog,
                                                                         model::ExecutableId executable,
                                                                         model::MemorySpaceId space) {
  constexpr std::int64_t kMostUnits = 1 << 20;
  const model::MemorySpace* known = catalog.memorySpaces.find(space);
  const std::int64_t units = known == nullptr ? 0 : std::clamp<std::int64_t>(known->units, 0, kMostUnits);
  std::map<std::string, std::vector<std::int64_t>> use;
  PIPESCOPE_ASSIGN(const model::Rows<model::UnitMemory> rows, source.rows<model::UnitMemory>());
  for (const model::UnitMemory& row : *rows) {
    if (row.executable != executable || row.space != space) continue;
    auto& values = use[row.category == kTileMemoryGap ? kTileMemoryGap : row.region];
    values.resize(static_cast<std::size_t>(units), 0);
    const auto [first, end] = tileMemoryUnitsOf(row, units);
    for (std::int64_t unit = first; unit < end; ++unit)
      base::addWrapped(values[static_cast<std::size_t>(unit)], row.bytes.count);
  }
  return use;
}

Result<std::vector<TileUse>> tileUse(const model::ProfileSource& source, model::ExecutableId executable,
                                     model::MemorySpaceId space, const std::vector<std::int64_t>& units) {
  std::map<std::tuple<std::string, std::string, bool>, std::int64_t> sums;
  PIPESCOPE_ASSIGN(const model::Rows<model::UnitMemory> rows, source.rows<model::UnitMemory>());
  for (const model::UnitMemory& row : *rows) {
    if (row.executable != executable || (space.valid() && row.space != space)) continue;
    std::int64_t count = std::max<std::int64_t>(0, row.unitCount);
    if (!units.empty()) {
      count = std::count_if(units.begin(), units.end(), [&](std::int64_t unit) {
        return unit >= row.firstUnit && unit - row.firstUnit < row.unitCount;
      });
    }
    if (count > 0)
      base::addWrapped(sums[{row.category, row.region, row.alwaysLive}],
                       base::wrappedProduct(count, row.bytes.count));
  }
  std::vector<TileUse> use;
  for (const auto& [key, bytes] : sums)
    use.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), Bytes(bytes)});
  std::stable_sort(use.begin(), use.end(), [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  return use;
}

Result<ProgramPlace> programPlace(const model::ProfileSource& source, const Catalog& catalog,
                                  model::ExecutableId executable, model::ProgramId program,
                                  base::Progress& progress) {
  ProgramPlace place;
  if (!catalog.programs.contains(program)) return place;
  place.kind = catalog.programs[program].kind;
  PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> steps, source.blocks<model::Step>());
  for (std::size_t i = 0; i < steps.size() && !place.found; ++i) {
    if (progress.cancelled()) return base::cancelled("Looking for the program was stopped.");
    if (steps[i].rows > 0) {
      PIPESCOPE_ASSIGN(const std::vector<model::ColumnRange> ranges, source.ranges<model::Step>(i));
      if (!ranges[kProgramColumn].mayHold(program.value)) continue;
    }
    PIPESCOPE_ASSIGN(const model::Rows<model::Step> rows, source.block<model::Step>(i));
    for (const model::Step& row : *rows) {
      if (row.program != program) continue;
      place.found = true;
      place.step = row;
      place.segment = row.segment;
      break;
    }
  }
  const model::Run* run = catalog.lastRunOf(executable);
  if (!place.found || run == nullptr) return place;
  PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> placements, source.blocks<model::Placement>());
  for (std::size_t i = 0; i < placements.size(); ++i) {
    if (progress.cancelled()) return base::cancelled("Looking for the program was stopped.");
    if (placements[i].rows > 0) {
      PIPESCOPE_ASSIGN(const std::vector<model::ColumnRange> ranges, source.ranges<model::Placement>(i));
      if (!ranges[kSegmentColumn].mayHold(place.segment.value) || !ranges[kRunColumn].mayHold(run->id.value))
        continue;
    }
    PIPESCOPE_ASSIGN(const model::Rows<model::Placement> rows, source.block<model::Placement>(i));
    for (const model::Placement& row : *rows) {
      if (row.segment != place.segment || row.run != run->id) continue;
      place.ran = true;
      place.placement = row.id;
      place.time = base::convertRoundUp(row.start + place.step.offset, catalog.timebase(row.device),
                                        catalog.timebase(model::DeviceId(0)));
      return place;
    }
  }
  return place;
}

}  // namespace pipescope::analysis
