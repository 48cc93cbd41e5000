#include "profiler/analysis/pva/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "profiler/analysis/block_walk.h"
#include "profiler/analysis/memory/memory.h"

namespace pipescope::pva::detail {

Result<std::unordered_map<std::int64_t, Profile::StepPlace>> Profile::findSteps() const {
  std::unordered_map<std::int64_t, StepPlace> found;
  const std::size_t programs = analysis::columnOf<model::Step>("program"),
                    ticks = analysis::columnOf<model::Step>("ticks");
  PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> blocks, source->blocks<model::Step>());
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    if (blocks[b].rows == 0) continue;
    PIPESCOPE_ASSIGN(const auto columns, source->columns<model::Step>(b));
    for (std::size_t i = 0; i < columns->rows; ++i) {
      found.try_emplace(
          columns->columns[programs][i],
          StepPlace{blocks[b].firstRow + static_cast<std::int64_t>(i), columns->columns[ticks][i]});
    }
  }
  return found;
}

Result<std::vector<std::int64_t>> Profile::cyclesByTile(std::int64_t id) const {
  const model::Device* device = catalog->device(program(id).device);
  constexpr std::int64_t kMostTiles = 10'000'000;
  if (device == nullptr || device->units < 1 || device->units > kMostTiles)
    return std::vector<std::int64_t>();
  const std::lock_guard lock(mutex_);
  if (!steps_) {
    PIPESCOPE_ASSIGN(steps_, findSteps());
    PIPESCOPE_ASSIGN(units_, analysis::UnitReader::make(*source));
  }
  const auto step = steps_->find(id);
  if (step == steps_->end()) return std::vector<std::int64_t>();
  PIPESCOPE_ASSIGN(const std::vector<analysis::UnitTicks> runs,
                   units_->of(step->second.row, model::Ticks(step->second.ticks), device->units));
  std::vector<std::int64_t> cycles(runs.empty() ? 0 : static_cast<std::size_t>(device->units));
  for (const analysis::UnitTicks& run : runs) {
    for (std::int64_t unit = run.firstUnit; unit < run.firstUnit + run.unitCount; ++unit)
      cycles[static_cast<std::size_t>(unit)] = run.ticks.count;
  }
  return cycles;
}

std::vector<std::int64_t> Profile::childrenOf(std::int64_t id) const {
  std::call_once(childrenRead_, [this] { readChildren(); });
  const auto found = children_.find(id);
  return found == children_.end() ? std::vector<std::int64_t>() : found->second;
}

/// Skips damaged blocks. Their programs are then missing from the lists of children.
void Profile::readChildren() const {
  const auto blocks = source->blocks<model::Program>();
  for (std::size_t b = 0; blocks.ok() && b < blocks->size(); ++b) {
    const auto rows = source->block<model::Program>(b);
    if (!rows.ok()) continue;
    for (const model::Program& row : **rows) {
      if (row.parent.valid()) children_[row.parent.value].push_back(row.id.value);
    }
  }
}

Result<Profile::TilePlace> Profile::tile(std::int64_t number) const {
  PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> maps, source->blocks<model::VariableUnits>());
  if (std::ranges::none_of(maps, [](const model::BlockInfo& block) { return block.rows > 0; })) {
    return base::badInput(
        "The profile does not say which variables lie on which tile; record it with --record steps or "
        "tiles.");
  }
  std::int64_t first = 0;
  for (const model::MemorySpace& space : catalog->memorySpaces) {
    if (!isTiled(space, first)) continue;
    if (number >= first && number - first < space.units)
      return TilePlace{space.id, space.device, number - first};
    first += space.units;
  }
  return base::badInput(fmt::format("The profile has no tile {}; its tiles are 0 to {}.", number, first - 1));
}

bool isTiled(const model::MemorySpace& space, std::int64_t tilesBefore) {
  constexpr std::int64_t kMostTiles = 10'000'000;
  return space.units > 0 && space.units <= kMostTiles - tilesBefore && analysis::isOnDevice(space);
}

DebugContext contextOf(const detail::Profile& profile, model::DebugContextId id) {
  DebugContext context;
  if (!profile.catalog->debugContexts.contains(id)) return context;
  const model::DebugContext row = profile.catalog->debugContexts[id];
  context.id = id.value;
  context.name = profile.catalog->namePath(id);
  context.layer = row.layer;
  if (row.parent.valid()) context.parents.push_back(row.parent.value);
  return context;
}

}  // namespace pipescope::pva::detail
