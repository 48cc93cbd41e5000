#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>
#include <unordered_map>

#include "profiler/analysis/block_walk.h"
#include "profiler/analysis/memory/unit_layout.h"
#include "profiler/analysis/memory/unit_liveness.h"
#include "profiler/analysis/memory/unit_vertices.h"
#include "profiler/analysis/pva/profile.h"
#include "profiler/base/wrapping.h"

namespace pipescope::pva {
namespace {

void addUse(TileMemory& memory, const model::UnitMemory& row) {
  const std::int64_t bytes = row.bytes.count;
  const bool gap = row.category == "gap";
  GapBytes* const region = row.region == "interleaved"  ? &memory.interleaved
                           : row.region == "overflowed" ? &memory.overflowed
                                                        : &memory.nonInterleaved;
  for (GapBytes* part : {&memory.total, region}) {
    base::addWrapped(part->includingGaps, bytes);
    if (!gap) base::addWrapped(part->excludingGaps, bytes);
  }
  if (gap) return;
  base::addWrapped(row.alwaysLive ? memory.alwaysLiveBytes : memory.notAlwaysLiveBytes, bytes);
  CategoryMemory& category = memory.category[row.category];
  for (std::int64_t* part : {&category.total, row.region == "interleaved"  ? &category.interleaved
                                              : row.region == "overflowed" ? &category.overflowed
                                                                           : &category.nonInterleaved})
    base::addWrapped(*part, bytes);
}

}  // namespace

Program LivenessProgramStep::program() const {
  return Program(profile_, row_.program.value);
}

Result<LiveMemory> LivenessProgramStep::notAlwaysLiveMemory() const {
  LiveMemory live;
  live.bytes = row_.notAlwaysLive.count;
  std::set<std::int64_t> ids;
  PIPESCOPE_ASSIGN(const auto intervals,
                   detail::rowsWhere<model::LifeInterval>(*profile_->source, [&](const auto& row) {
                     return row.firstStep <= row_.index && row_.index < row.endStep;
                   }));
  for (const model::LifeInterval& row : intervals) ids.insert(row.variable.value);
  PIPESCOPE_ASSIGN(const auto variables,
                   detail::rowsWhere<model::Variable>(*profile_->source, [&](const auto& row) {
                     return row.space == row_.space && !row.alwaysLive && ids.count(row.id.value) != 0;
                   }));
  for (const model::Variable& row : variables)
    live.variables.push_back({profile_->catalog->namePath(row.debugContext), row.bytes.count});
  return live;
}

Result<LiveMemory> LivenessProgramStep::notAlwaysLiveMemoryForTile(std::int64_t tile) const {
  PIPESCOPE_ASSIGN(const detail::Profile::TilePlace place, profile_->tile(tile));
  if (place.space != row_.space) {
    return base::badInput(
        fmt::format("Tile {} is not of IPU {}, whose program this step is of.", tile, ipu()));
  }
  PIPESCOPE_ASSIGN(const auto variables,
                   analysis::variablesOnUnit(*profile_->source, *profile_->catalog, row_.executable,
                                             row_.space, place.unit, row_.index));
  LiveMemory live;
  for (const analysis::UnitVariable& variable : variables) {
    if (variable.alwaysLive) continue;
    base::addWrapped(live.bytes, variable.bytes.count);
    live.variables.push_back({variable.name, variable.bytes.count});
  }
  return live;
}

std::int64_t LivenessProgramStep::ipu() const {
  const model::MemorySpace* space = profile_->catalog->memorySpaces.find(row_.space);
  return space == nullptr ? -1 : profile_->ipuOf(space->device);
}

Target Compilation::target() const {
  const analysis::Catalog& catalog = *profile_->catalog;
  Target target;
  target.type = catalog.target.family;
  if (catalog.devices.empty()) return target;
  const model::Device& device = catalog.devices.front();
  if (device.units > 1) target.type = "IpuModel";  // libpva's word for an emulated device of many tiles
  target.architecture = device.kind;
  target.numIPUs = static_cast<std::int64_t>(catalog.devices.size());
  target.tilesPerIpu = device.units;
  target.numTiles = target.numIPUs * target.tilesPerIpu;
  target.clockFrequency = device.ticksPerSecond;
  for (const model::MemorySpace& space : catalog.memorySpaces) {
    if (space.device != device.id || space.units != device.units) continue;
    target.bytesPerTile = space.bytesPerUnit.count;
    break;
  }
  target.bytesPerIPU = target.bytesPerTile * target.tilesPerIpu;
  target.totalMemory = target.bytesPerIPU * target.numIPUs;
  const model::Executable* executable = catalog.executable(executable_);
  target.numReplicas = executable == nullptr ? 1 : std::max<std::int64_t>(1, executable->replicas);
  target.ipusPerReplica = target.numIPUs / target.numReplicas;
  target.tilesPerReplica = target.ipusPerReplica * target.tilesPerIpu;
  target.memoryPerReplica = target.ipusPerReplica * target.bytesPerIPU;
  return target;
}

Result<std::vector<Tile>> Compilation::tiles() const {
  const analysis::Catalog& catalog = *profile_->catalog;
  std::vector<Tile> tiles;
  std::unordered_map<std::int64_t, std::int64_t> firstOf;  // first tile of each memory space
  for (const model::MemorySpace& space : catalog.memorySpaces) {
    const auto first = static_cast<std::int64_t>(tiles.size());
    if (!detail::isTiled(space, first)) continue;
    firstOf[space.id.value] = first;
    for (std::int64_t unit = 0; unit < space.units; ++unit) {
      Tile& tile = tiles.emplace_back();
      tile.id = first + unit;
      tile.ipu = profile_->ipuOf(space.device);
      tile.memory.profile_ = profile_;
      tile.memory.executable_ = executable_;
      tile.memory.tile_ = tile.id;
    }
  }
  PIPESCOPE_ASSIGN(const model::Rows<model::UnitMemory> rows, profile_->source->rows<model::UnitMemory>());
  for (const model::UnitMemory& row : *rows) {
    const auto first = firstOf.find(row.space.value);
    const model::MemorySpace* space = catalog.memorySpaces.find(row.space);
    if (row.executable != executable_ || first == firstOf.end() || space == nullptr) continue;
    const std::int64_t units = space->units;
    const std::int64_t from = std::clamp<std::int64_t>(row.firstUnit, 0, units);
    const std::int64_t to = from + std::clamp<std::int64_t>(row.unitCount, 0, units - from);
    for (std::int64_t unit = from; unit < to; ++unit)
      addUse(tiles[static_cast<std::size_t>(first->second + unit)].memory, row);
  }
  return tiles;
}

Result<std::vector<Ipu>> Compilation::ipus() const {
  PIPESCOPE_ASSIGN(std::vector<Tile> all, tiles());
  std::vector<Ipu> ipus;
  for (const model::Device& device : profile_->catalog->devices)
    ipus.push_back({profile_->ipuOf(device.id), {}});
  for (Tile& tile : all) {
    const auto ipu = std::ranges::find(ipus, tile.ipu, &Ipu::id);
    if (ipu != ipus.end()) ipu->tiles.push_back(std::move(tile));
  }
  return ipus;
}

Result<std::vector<Replica>> Compilation::replicas() const {
  PIPESCOPE_ASSIGN(std::vector<Ipu> all, ipus());
  const Target target = this->target();
  std::vector<Replica> replicas;
  for (std::size_t i = 0; i < all.size() && target.ipusPerReplica > 0; ++i) {
    const std::int64_t id =
        std::min(static_cast<std::int64_t>(i) / target.ipusPerReplica, target.numReplicas - 1);
    if (replicas.empty() || replicas.back().id != id) replicas.push_back({id, {}});
    replicas.back().ipus.push_back(std::move(all[i]));
  }
  return replicas;
}

Result<Graph> Compilation::graph() const {
  Graph graph;
  PIPESCOPE_ASSIGN(const std::vector<ComputeSet> sets, computeSets());
  graph.numComputeSets = static_cast<std::int64_t>(sets.size());
  PIPESCOPE_ASSIGN(const auto variables,
                   detail::rowsWhere<model::Variable>(
                       *profile_->source, [&](const auto& row) { return row.executable == executable_; }));
  graph.numVars = static_cast<std::int64_t>(variables.size());
  PIPESCOPE_TRY(analysis::forAllRows<model::VertexUse>(*profile_->source, [&](const auto& row) {
    if (row.executable == executable_)
      base::addWrapped(graph.numVertices, base::wrappedProduct(row.count, row.unitCount));
  }));
  return graph;
}

Result<std::vector<Program>> Compilation::programsWhere(
    const std::function<bool(const model::Program&)>& wanted) const {
  PIPESCOPE_ASSIGN(const auto rows, detail::rowsWhere<model::Program>(*profile_->source, wanted));
  std::vector<Program> programs;
  for (const model::Program& row : rows) programs.push_back(Program(profile_, row.id.value));
  return programs;
}

Result<std::vector<Program>> Compilation::rootPrograms() const {
  return programsWhere(
      [&](const model::Program& row) { return row.executable == executable_ && !row.parent.valid(); });
}

Result<std::vector<Program>> Compilation::programs() const {
  return programsWhere([&](const model::Program& row) { return row.executable == executable_; });
}

Result<std::map<std::string, std::string>> Compilation::engineOptions() const {
  std::map<std::string, std::string> options;
  PIPESCOPE_ASSIGN(const model::Rows<model::ConfigurationEntry> rows,
                   profile_->source->rows<model::ConfigurationEntry>());
  for (const model::ConfigurationEntry& row : *rows) options[row.path] = row.value;
  return options;
}

Result<std::vector<ComputeSet>> Compilation::computeSets() const {
  PIPESCOPE_ASSIGN(const auto rows,
                   detail::rowsWhere<model::Program>(*profile_->source, [&](const model::Program& row) {
                     return row.executable == executable_ && row.kind == "OnTileExecute";
                   }));
  std::vector<ComputeSet> sets;
  for (const model::Program& row : rows) {
    // Steps belong to the calls of a function, so the body of the function has no times of its own.
    if (row.parent.valid() && profile_->program(row.parent.value).kind == "Function") continue;
    sets.push_back(ComputeSet(profile_, Program(profile_, row.id.value)));
  }
  return sets;
}

Result<std::vector<LivenessProgramStep>> Compilation::livenessProgramSteps(std::int64_t ipu) const {
  model::MemorySpaceId wanted;
  for (const model::MemorySpace& space : profile_->catalog->memorySpaces) {
    if (space.device.value == ipu && !wanted.valid()) wanted = space.id;
  }
  PIPESCOPE_ASSIGN(const auto rows,
                   detail::rowsWhere<model::LivenessStep>(*profile_->source, [&](const auto& row) {
                     return row.executable == executable_ && row.space == wanted && wanted.valid();
                   }));
  std::vector<LivenessProgramStep> steps;
  for (const model::LivenessStep& row : rows) {
    steps.emplace_back();
    steps.back().profile_ = profile_;
    steps.back().row_ = row;
  }
  return steps;
}

Result<std::vector<Variable>> Compilation::alwaysLiveVariables() const {
  PIPESCOPE_ASSIGN(const auto rows,
                   detail::rowsWhere<model::Variable>(*profile_->source, [&](const auto& row) {
                     return row.executable == executable_ && row.alwaysLive;
                   }));
  std::vector<Variable> variables;
  for (const model::Variable& row : rows)
    variables.push_back({profile_->catalog->namePath(row.debugContext), row.bytes.count});
  return variables;
}

Result<std::vector<Variable>> Compilation::alwaysLiveVariablesForTile(std::int64_t tile) const {
  PIPESCOPE_ASSIGN(const detail::Profile::TilePlace place, profile_->tile(tile));
  PIPESCOPE_ASSIGN(const auto rows, analysis::variablesOfUnit(*profile_->source, *profile_->catalog,
                                                              executable_, place.space, place.unit));
  std::vector<Variable> variables;
  for (const analysis::UnitVariable& row : rows) {
    if (row.alwaysLive) variables.push_back({row.name, row.bytes.count});
  }
  return variables;
}

Result<std::vector<LoweredVariable>> Compilation::loweredVariablesForTile(std::int64_t tile) const {
  PIPESCOPE_ASSIGN(const detail::Profile::TilePlace place, profile_->tile(tile));
  PIPESCOPE_ASSIGN(
      const analysis::UnitLayout layout,
      analysis::unitLayout(*profile_->source, *profile_->catalog, executable_, place.space, place.unit));
  std::vector<LoweredVariable> variables;
  for (const analysis::PlacedVariable& row : layout.variables) {
    variables.push_back({row.id.value, row.name, row.category, row.shape, row.bytes.count, tile,
                         row.alwaysLive, row.address, row.region, row.firstStep, row.endStep});
  }
  std::ranges::stable_sort(variables, std::greater(), &LoweredVariable::bytes);
  return variables;
}

Result<std::vector<TileVertexMemory>> Compilation::verticesForTile(std::int64_t tile) const {
  PIPESCOPE_ASSIGN(const detail::Profile::TilePlace place, profile_->tile(tile));
  base::SilentProgress progress;
  PIPESCOPE_ASSIGN(const analysis::UnitVertices found,
                   analysis::unitVertices(*profile_->source, *profile_->catalog, executable_, place.space,
                                          {place.unit}, progress));
  std::vector<TileVertexMemory> vertices;
  for (const analysis::VertexType& type : found.types) {
    vertices.push_back(
        {{type.type, type.code.count}, type.count, type.code.count, type.state.count, type.lists.count});
  }
  return vertices;
}

Result<std::vector<TileVertexMemory>> TileMemory::vertices() const {
  Compilation compilation;
  compilation.profile_ = profile_;
  compilation.executable_ = executable_;
  return compilation.verticesForTile(tile_);
}

std::vector<std::int64_t> ComputeSetVertices::countByTile() const {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(tilesOfIpu), 0);
  for (const Part& part : parts) {
    const std::int64_t from = std::clamp<std::int64_t>(part.first, 0, tilesOfIpu);
    const std::int64_t to = from + std::clamp<std::int64_t>(part.tiles, 0, tilesOfIpu - from);
    for (std::int64_t tile = from; tile < to; ++tile)
      base::addWrapped(counts[static_cast<std::size_t>(tile)], part.each);
  }
  return counts;
}

Result<std::vector<ComputeSetVertices>> ComputeSet::vertices() const {
  PIPESCOPE_ASSIGN(const auto rows,
                   detail::rowsWhere<model::VertexUse>(*profile_->source, [&](const auto& row) {
                     return row.program.value == program_.id();
                   }));
  const model::Device* device = profile_->catalog->devices.find(profile_->program(program_.id()).device);
  constexpr std::int64_t kMostTiles = 10'000'000;
  const std::int64_t units = device == nullptr ? 0 : std::clamp<std::int64_t>(device->units, 0, kMostTiles);
  std::vector<ComputeSetVertices> vertices;
  for (const model::VertexUse& row : rows) {
    auto known = std::ranges::find(vertices, row.type, [](const auto& each) { return each.type.name; });
    if (known == vertices.end())
      known = vertices.insert(known, ComputeSetVertices{{row.type, row.code.count}, 0, 0, units, {}});
    known->parts.push_back({row.firstUnit, row.unitCount, row.count});
    base::addWrapped(known->count, base::wrappedProduct(row.count, row.unitCount));
    base::addWrapped(known->tiles, row.unitCount);
  }
  return vertices;
}

}  // namespace pipescope::pva
