#include "profiler/analysis/memory/memory.h"

#include <algorithm>
#include <set>

#include "profiler/analysis/block_walk.h"
#include "profiler/base/wrapping.h"

namespace pipescope::analysis {
namespace {

constexpr const char* kMemoryGap = "gap";
/// No real device has more units, but a hostile file may claim any number.
constexpr std::int64_t kMostUnits = 1 << 20;

/// The rows of one memory space in an executable, and the units that each of them describes.
using UnitRows = std::vector<const model::UnitMemory*>;

/// Calls add(row, first, end) with the range of units of each row, as far as the space has them. False: there
/// is no row.
template <class Add>
bool forEachUnitRun(const UnitRows& rows, std::int64_t units, Add add) {
  for (const model::UnitMemory* row : rows) {
    const std::int64_t first = std::clamp<std::int64_t>(row->firstUnit, 0, units);
    add(*row, first, first + std::clamp<std::int64_t>(row->unitCount, 0, units - first));
  }
  return !rows.empty();
}

UnitRows unitRowsOf(const std::vector<model::UnitMemory>& rows, model::ExecutableId executable,
                    model::MemorySpaceId space) {
  UnitRows own;
  for (const model::UnitMemory& row : rows)
    if (row.executable == executable && row.space == space) own.push_back(&row);
  return own;
}

UnitUse unitUseOf(const UnitRows& rows, std::int64_t units) {
  UnitUse use;
  for (auto* column : {&use.includingGaps, &use.excludingGaps, &use.alwaysLive, &use.notAlwaysLive})
    column->assign(static_cast<std::size_t>(units), 0);
  const bool any =
      forEachUnitRun(rows, units, [&](const model::UnitMemory& row, std::int64_t first, std::int64_t end) {
        for (auto u = static_cast<std::size_t>(first); u < static_cast<std::size_t>(end); ++u) {
          base::addWrapped(use.includingGaps[u], row.bytes.count);
          if (row.category == kMemoryGap) continue;
          base::addWrapped(use.excludingGaps[u], row.bytes.count);
          base::addWrapped((row.alwaysLive ? use.alwaysLive : use.notAlwaysLive)[u], row.bytes.count);
        }
      });
  return any ? use : UnitUse();
}

/// Step with most memory that is not always live: its number among the steps of its memory space, and the
/// bytes.
struct LivePeak {
  std::int64_t steps = 0, step = -1;
  Bytes bytes;
};

/// The peaks of all memory spaces, in one pass over the steps.
Result<std::map<model::MemorySpaceId, LivePeak>> livePeaks(const model::ProfileSource& source,
                                                           model::ExecutableId executable) {
  std::map<model::MemorySpaceId, LivePeak> peaks;
  LivePeak* peak = nullptr;
  model::MemorySpaceId space;
  PIPESCOPE_TRY(forAllRows<model::LivenessStep>(source, [&](const model::LivenessStep& row) {
    if (row.executable != executable) return;
    if (peak == nullptr || row.space != space) peak = &peaks[row.space];
    space = row.space;
    if (peak->step < 0 || row.notAlwaysLive > peak->bytes) {
      peak->step = peak->steps;
      peak->bytes = row.notAlwaysLive;
    }
    ++peak->steps;
  }));
  return peaks;
}

}  // namespace

std::int64_t memoryUnitsOf(const Catalog& catalog, model::MemorySpaceId space) {
  const model::MemorySpace* row = catalog.memorySpaces.find(space);
  return row == nullptr ? 0 : std::clamp<std::int64_t>(row->units, 0, kMostUnits);
}

Result<UnitUse> unitUse(const model::ProfileSource& source, const Catalog& catalog,
                        model::ExecutableId executable, model::MemorySpaceId space) {
  PIPESCOPE_ASSIGN(const model::Rows<model::UnitMemory> rows, source.rows<model::UnitMemory>());
  return unitUseOf(unitRowsOf(*rows, executable, space), memoryUnitsOf(catalog, space));
}

Result<std::map<std::string, std::vector<std::int64_t>>> unitUseByCategory(const model::ProfileSource& source,
                                                                           const Catalog& catalog,
                                                                           model::ExecutableId executable,
                                                                           model::MemorySpaceId space) {
  std::map<std::string, std::vector<std::int64_t>> use;
  const std::int64_t units = memoryUnitsOf(catalog, space);
  PIPESCOPE_ASSIGN(const model::Rows<model::UnitMemory> rows, source.rows<model::UnitMemory>());
  forEachUnitRun(unitRowsOf(*rows, executable, space), units,
                 [&](const model::UnitMemory& row, std::int64_t first, std::int64_t end) {
                   auto& column = use[row.category];
                   column.resize(static_cast<std::size_t>(units), 0);
                   for (auto u = static_cast<std::size_t>(first); u < static_cast<std::size_t>(end); ++u)
                     base::addWrapped(column[u], row.bytes.count);
                 });
  return use;
}

Result<Liveness> liveness(const model::ProfileSource& source, const Catalog& catalog,
                          model::ExecutableId executable, model::MemorySpaceId space) {
  Liveness result;
  PIPESCOPE_ASSIGN(const UnitUse use, unitUse(source, catalog, executable, space));
  for (const std::int64_t bytes : use.alwaysLive) result.alwaysLive += Bytes(bytes);
  PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> blocks, source.blocks<model::LivenessStep>());
  const std::size_t column = columnOf<model::LivenessStep>("memory_space");
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    if (blocks[b].rows > 0) {  // A damaged block has no rows. Reading it gives the error.
      PIPESCOPE_ASSIGN(const std::vector<model::ColumnRange> ranges, source.ranges<model::LivenessStep>(b));
      if (column < ranges.size() && !ranges[column].mayHold(space.value)) continue;
    }
    PIPESCOPE_ASSIGN(const model::Rows<model::LivenessStep> rows, source.block<model::LivenessStep>(b));
    for (const model::LivenessStep& row : *rows) {
      if (row.executable != executable || row.space != space) continue;
      result.steps.push_back({row.index, row.program, row.pass, row.notAlwaysLive, row.maxUnitNotAlwaysLive});
      const auto here = static_cast<std::int64_t>(result.steps.size()) - 1;
      if (result.peakStep < 0 ||
          row.notAlwaysLive > result.steps[static_cast<std::size_t>(result.peakStep)].notAlwaysLive)
        result.peakStep = here;
    }
  }
  return result;
}

bool isOnDevice(const model::MemorySpace& space) {
  return space.device.valid() && space.kind != "streaming_memory";
}

namespace {

DeviceMemory deviceMemory(const Catalog& catalog, const model::MemorySpace& space, const UnitRows& rows,
                          const LivePeak& peak) {
  DeviceMemory memory;
  memory.index = static_cast<int>(space.device.value);
  if (const model::Device* device = catalog.device(space.device)) memory.name = device->name;
  memory.spaceKind = space.kind;
  memory.space = space.id;
  memory.units = space.units;
  memory.bytesPerUnit = space.bytesPerUnit;
  const std::int64_t units = memoryUnitsOf(catalog, space.id);
  const UnitUse use = unitUseOf(rows, units);
  for (std::size_t u = 0; u < use.includingGaps.size(); ++u) {
    memory.total += Bytes(use.excludingGaps[u]);
    memory.totalIncludingGaps += Bytes(use.includingGaps[u]);
    memory.alwaysLive += Bytes(use.alwaysLive[u]);
    if (Bytes(use.includingGaps[u]) > memory.maxUnitIncludingGaps) {
      memory.maxUnitIncludingGaps = Bytes(use.includingGaps[u]);
      memory.spanUnit = static_cast<std::int64_t>(u);
    }
    if (Bytes(use.excludingGaps[u]) > memory.maxUnit) {
      memory.maxUnit = Bytes(use.excludingGaps[u]);
      memory.worstUnit = static_cast<std::int64_t>(u);
    }
  }
  forEachUnitRun(rows, units, [&](const model::UnitMemory& row, std::int64_t first, std::int64_t end) {
    const Bytes bytes = row.bytes * (end - first);
    memory.byRegion[row.region] += bytes;
    if (row.category != kMemoryGap) memory.byCategory[row.category] += bytes;
  });
  memory.peakStep = peak.step;
  if (peak.step >= 0) memory.notAlwaysLivePeak = peak.bytes;
  // The capacity of a host may not be stated.
  const bool stated = space.device.valid() || space.bytesPerUnit.count > 0;
  memory.fits = !stated || memory.maxUnitIncludingGaps <= space.bytesPerUnit;
  return memory;
}

}  // namespace

Result<Memory> memory(const model::ProfileSource& source, const Catalog& catalog,
                      model::ExecutableId executable) {
  Memory result;
  std::set<model::DeviceId> own;  // devices of the first replica
  for (const model::Stage* stage : catalog.stagesOf(executable)) own.insert(stage->device);
  PIPESCOPE_ASSIGN(const model::Rows<model::UnitMemory> rows, source.rows<model::UnitMemory>());
  std::map<model::MemorySpaceId, UnitRows> rowsOf;
  for (const model::UnitMemory& row : *rows)
    if (row.executable == executable) rowsOf[row.space].push_back(&row);
  PIPESCOPE_ASSIGN(const auto peaks, livePeaks(source, executable));
  for (const model::MemorySpace& space : catalog.memorySpaces) {
    if (space.device.valid() && !own.empty() && !own.contains(space.device)) continue;
    const auto peak = peaks.find(space.id);
    const DeviceMemory device =
        deviceMemory(catalog, space, rowsOf[space.id], peak == peaks.end() ? LivePeak() : peak->second);
    if (device.totalIncludingGaps.count == 0) continue;
    (isOnDevice(space) ? result.devices : result.others).push_back(device);
    if (!isOnDevice(space)) continue;
    result.total += device.total;
    result.maxUnit = std::max(result.maxUnit, device.maxUnit);
    result.maxUnitIncludingGaps = std::max(result.maxUnitIncludingGaps, device.maxUnitIncludingGaps);
    result.alwaysLive += device.alwaysLive;
    result.notAlwaysLivePeak += device.notAlwaysLivePeak;
    for (const auto& [category, bytes] : device.byCategory) result.byCategory[category] += bytes;
  }
  return result;
}

Result<std::vector<LiveVariable>> liveVariables(const model::ProfileSource& source, const Catalog& catalog,
                                                model::ExecutableId executable, model::MemorySpaceId space,
                                                StepRange steps, bool withAlwaysLive) {
  PIPESCOPE_ASSIGN(const model::Rows<model::Variable> variables, source.rows<model::Variable>());
  PIPESCOPE_ASSIGN(const model::Rows<model::LifeInterval> lives, source.rows<model::LifeInterval>());
  std::map<model::VariableId, model::LifeInterval> liveNow;
  for (const model::LifeInterval& life : *lives) {
    if (!steps.meets(life.firstStep, life.endStep)) continue;
    model::LifeInterval& known = liveNow.try_emplace(life.variable, life).first->second;
    known.firstStep = std::min(known.firstStep, life.firstStep);
    known.endStep = std::max(known.endStep, life.endStep);
  }
  std::vector<LiveVariable> found;
  for (const model::Variable& variable : *variables) {
    if (variable.executable != executable || variable.space != space) continue;
    const auto life = liveNow.find(variable.id);
    if (variable.alwaysLive ? !withAlwaysLive : life == liveNow.end()) continue;
    LiveVariable row{catalog.namePath(variable.debugContext),
                     variable.category,
                     variable.shape,
                     variable.bytes,
                     variable.maxUnitBytes,
                     variable.alwaysLive,
                     0,
                     0};
    if (life != liveNow.end()) {
      row.firstStep = life->second.firstStep;
      row.endStep = life->second.endStep;
    }
    found.push_back(std::move(row));
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const LiveVariable& a, const LiveVariable& b) { return a.bytes > b.bytes; });
  return found;
}

}  // namespace pipescope::analysis
