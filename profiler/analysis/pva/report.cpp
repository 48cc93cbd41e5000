#include "profiler/analysis/pva/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <set>
#include <unordered_map>

#include "profiler/analysis/block_walk.h"
#include "profiler/analysis/memory.h"
#include "profiler/analysis/run_rows.h"
#include "profiler/analysis/unit_steps.h"

namespace pipescope::pva {

namespace detail {
struct Profile {
  std::shared_ptr<const model::ProfileSource> source;
  std::shared_ptr<const analysis::Catalog> catalog;

  model::Program program(std::int64_t id) const {
    const auto index = static_cast<std::size_t>(id);
    return id >= 0 && index < catalog->programs.size() ? catalog->programs[index] : model::Program();
  }
  std::int64_t ipuOf(model::DeviceId device) const { return device.value; }

  struct StepPlace {
    std::int64_t row = 0, ticks = 0;
  };
  /// The first step of each program; read once.
  Result<std::unordered_map<std::int64_t, StepPlace>> findSteps() const;
  /// Cycles by tile of a program's step; empty: not recorded.
  Result<std::vector<std::int64_t>> cyclesByTile(std::int64_t program) const;

  /// Read at the first question: a walk over the tree asks for every program's.
  std::vector<std::int64_t> childrenOf(std::int64_t id) const {
    std::call_once(childrenRead_, [this] { readChildren(); });
    const auto found = children_.find(id);
    return found == children_.end() ? std::vector<std::int64_t>() : found->second;
  }

 private:
  /// Programs that damage took away are missing where they would be shown.
  void readChildren() const {
    const auto blocks = source->blocks<model::Program>();
    for (std::size_t b = 0; blocks.ok() && b < blocks->size(); ++b) {
      const auto rows = source->block<model::Program>(b);
      if (!rows.ok()) continue;
      for (const model::Program& row : **rows) {
        if (row.parent.valid()) children_[row.parent.value].push_back(row.id.value);
      }
    }
  }

  mutable std::once_flag childrenRead_;
  mutable std::unordered_map<std::int64_t, std::vector<std::int64_t>> children_;
  mutable std::mutex mutex_;  // around the two below
  mutable std::optional<std::unordered_map<std::int64_t, StepPlace>> steps_;
  mutable std::optional<analysis::UnitReader> units_;
};

Result<std::unordered_map<std::int64_t, Profile::StepPlace>> Profile::findSteps() const {
  std::unordered_map<std::int64_t, StepPlace> found;
  const std::size_t programs = analysis::columnOf<model::Step>("program"), ticks = analysis::columnOf<model::Step>("ticks");
  PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> blocks, source->blocks<model::Step>());
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    if (blocks[b].rows == 0) continue;
    PIPESCOPE_ASSIGN(const auto columns, source->columns<model::Step>(b));
    for (std::size_t i = 0; i < columns->rows; ++i) {
      found.try_emplace(columns->columns[programs][i],
                        StepPlace{blocks[b].firstRow + static_cast<std::int64_t>(i), columns->columns[ticks][i]});
    }
  }
  return found;
}

Result<std::vector<std::int64_t>> Profile::cyclesByTile(std::int64_t id) const {
  const model::Device* device = catalog->device(program(id).device);
  constexpr std::int64_t kMostTiles = 10'000'000;
  if (device == nullptr || device->units < 1 || device->units > kMostTiles) return std::vector<std::int64_t>();
  const std::lock_guard lock(mutex_);
  if (!steps_) {
    PIPESCOPE_ASSIGN(steps_, findSteps());
    PIPESCOPE_ASSIGN(units_, analysis::UnitReader::make(*source));
  }
  const auto step = steps_->find(id);
  if (step == steps_->end()) return std::vector<std::int64_t>();
  PIPESCOPE_ASSIGN(const std::vector<analysis::UnitRun> runs,
                   units_->of(step->second.row, model::Ticks(step->second.ticks), device->units));
  std::vector<std::int64_t> cycles(runs.empty() ? 0 : static_cast<std::size_t>(device->units));
  for (const analysis::UnitRun& run : runs) {
    for (std::int64_t unit = run.firstUnit; unit < run.firstUnit + run.unitCount; ++unit)
      cycles[static_cast<std::size_t>(unit)] = run.ticks.count;
  }
  return cycles;
}

}  // namespace detail

namespace {

DebugContext contextOf(const detail::Profile& profile, model::DebugContextId id) {
  DebugContext context;
  if (!id.valid() || static_cast<std::size_t>(id.value) >= profile.catalog->debugContexts.size()) return context;
  const model::DebugContext row = profile.catalog->debugContexts[static_cast<std::size_t>(id.value)];
  context.id = id.value;
  context.name = profile.catalog->namePath(id);
  context.layer = row.layer;
  if (row.parent.valid()) context.parents.push_back(row.parent.value);
  return context;
}

template <class Row>
Result<std::vector<Row>> rowsWhere(const model::ProfileSource& source, const std::function<bool(const Row&)>& wanted) {
  std::vector<Row> found;
  PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> blocks, source.blocks<Row>());
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    PIPESCOPE_ASSIGN(const model::Rows<Row> rows, source.block<Row>(b));
    for (const Row& row : *rows) {
      if (wanted(row)) found.push_back(row);
    }
  }
  return found;
}

void addUse(TileMemory& memory, const model::UnitMemory& row) {
  const std::int64_t bytes = row.bytes.count;
  const bool gap = row.category == "gap";
  GapBytes* const region = row.region == "interleaved" ? &memory.interleaved
                           : row.region == "overflowed" ? &memory.overflowed
                                                        : &memory.nonInterleaved;
  for (GapBytes* part : {&memory.total, region}) {
    part->includingGaps += bytes;
    if (!gap) part->excludingGaps += bytes;
  }
  if (gap) return;
  (row.alwaysLive ? memory.alwaysLiveBytes : memory.notAlwaysLiveBytes) += bytes;
  memory.category[row.category] += bytes;
}

}  // namespace

std::string Program::name() const {
  return profile_->catalog->namePath(profile_->program(id_).debugContext);
}
std::string Program::type() const {
  return profile_->program(id_).kind;
}
DebugContext Program::debugContext() const {
  return contextOf(*profile_, profile_->program(id_).debugContext);
}

std::vector<Program> Program::children() const {
  std::vector<Program> found;
  for (const std::int64_t child : profile_->childrenOf(id_)) found.push_back(Program(profile_, child));
  return found;
}
std::int64_t Program::count() const {
  return std::max<std::int64_t>(1, profile_->program(id_).count);
}
std::optional<Program> Program::target() const {
  const model::ProgramId target = profile_->program(id_).target;
  return target.valid() ? std::optional(Program(profile_, target.value)) : std::nullopt;
}

Result<std::vector<std::int64_t>> Program::estimatedCyclesByTile() const {
  return profile_->cyclesByTile(id_);
}

void Program::accept(ProgramVisitor& visitor) const {
  const std::string kind = type();
  if (kind == "OnTileExecute") return visitor.visitOnTileExecute(*this);
  if (kind == "DoExchange") return visitor.visitDoExchange(*this);
  if (kind == "GlobalExchange") return visitor.visitGlobalExchange(*this);
  if (kind.starts_with("StreamCopy")) return visitor.visitStreamCopy(*this);
  if (kind.starts_with("Sync")) return visitor.visitSync(*this);
  if (kind == "Sequence") return visitor.visitSequence(*this);
  if (kind == "Repeat") return visitor.visitRepeat(*this);
  if (kind == "Call") return visitor.visitCall(*this);
  if (kind == "Function") return visitor.visitFunction(*this);
  visitor.visitProgram(*this);
}

Program LivenessProgramStep::program() const {
  return Program(profile_, row_.program.value);
}

Result<LiveMemory> LivenessProgramStep::notAlwaysLiveMemory() const {
  LiveMemory live;
  live.bytes = row_.notAlwaysLive.count;
  std::set<std::int64_t> ids;
  PIPESCOPE_ASSIGN(const auto intervals, rowsWhere<model::LifeInterval>(*profile_->source, [&](const auto& row) {
                     return row.firstStep <= row_.index && row_.index < row.endStep;
                   }));
  for (const model::LifeInterval& row : intervals) ids.insert(row.variable.value);
  PIPESCOPE_ASSIGN(const auto variables, rowsWhere<model::Variable>(*profile_->source, [&](const auto& row) {
                     return row.space == row_.space && !row.alwaysLive && ids.count(row.id.value) != 0;
                   }));
  for (const model::Variable& row : variables)
    live.variables.push_back({profile_->catalog->namePath(row.debugContext), row.bytes.count});
  return live;
}

Target Compilation::target() const {
  const analysis::Catalog& catalog = *profile_->catalog;
  Target target;
  target.type = catalog.target.family == "ipu" ? "IpuModel" : catalog.target.family;
  if (catalog.devices.empty()) return target;
  const model::Device& device = catalog.devices.front();
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
  constexpr std::int64_t kMostTiles = 10'000'000;
  std::unordered_map<std::int64_t, std::int64_t> firstOf;  // by memory space
  for (const model::MemorySpace& space : catalog.memorySpaces) {
    const auto first = static_cast<std::int64_t>(tiles.size());
    if (space.units <= 0 || space.units > kMostTiles - first || !analysis::isOnDevice(space)) continue;
    firstOf[space.id.value] = first;
    for (std::int64_t unit = 0; unit < space.units; ++unit) {
      Tile& tile = tiles.emplace_back();
      tile.id = first + unit;
      tile.ipu = profile_->ipuOf(space.device);
    }
  }
  PIPESCOPE_ASSIGN(const model::Rows<model::UnitMemory> rows, profile_->source->rows<model::UnitMemory>());
  for (const model::UnitMemory& row : *rows) {
    const auto first = firstOf.find(row.space.value);
    if (row.executable != executable_ || first == firstOf.end()) continue;
    const std::int64_t units = catalog.memorySpaces[static_cast<std::size_t>(row.space.value)].units;
    const std::int64_t from = std::clamp<std::int64_t>(row.firstUnit, 0, units);
    const std::int64_t to = from + std::clamp<std::int64_t>(row.unitCount, 0, units - from);
    for (std::int64_t unit = from; unit < to; ++unit)
      addUse(tiles[static_cast<std::size_t>(first->second + unit)].memory, row);
  }
  return tiles;
}

std::vector<Program> Compilation::programs() const {
  std::vector<Program> roots;
  const auto rows = rowsWhere<model::Program>(*profile_->source, [&](const model::Program& row) {
    return row.executable == executable_ && !row.parent.valid();
  });
  if (!rows.ok()) return roots;
  for (const model::Program& row : *rows) roots.push_back(Program(profile_, row.id.value));
  return roots;
}

Result<std::vector<ComputeSet>> Compilation::computeSets() const {
  PIPESCOPE_ASSIGN(const auto rows, rowsWhere<model::Program>(*profile_->source, [&](const model::Program& row) {
                     return row.executable == executable_ && row.kind == "OnTileExecute";
                   }));
  std::vector<ComputeSet> sets;
  for (const model::Program& row : rows) sets.push_back(ComputeSet(Program(profile_, row.id.value)));
  return sets;
}

Result<std::vector<LivenessProgramStep>> Compilation::livenessProgramSteps(std::int64_t ipu) const {
  model::MemorySpaceId wanted;
  for (const model::MemorySpace& space : profile_->catalog->memorySpaces) {
    if (space.device.value == ipu && !wanted.valid()) wanted = space.id;
  }
  PIPESCOPE_ASSIGN(const auto rows, rowsWhere<model::LivenessStep>(*profile_->source, [&](const auto& row) {
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
  PIPESCOPE_ASSIGN(const auto rows, rowsWhere<model::Variable>(*profile_->source, [&](const auto& row) {
                     return row.executable == executable_ && row.alwaysLive;
                   }));
  std::vector<Variable> variables;
  for (const model::Variable& row : rows)
    variables.push_back({profile_->catalog->namePath(row.debugContext), row.bytes.count});
  return variables;
}

Program ExecutionStep::program() const {
  return Program(profile_, step_.program.value);
}

StepIpu ExecutionStep::ipu() const {
  StepIpu ipu;
  ipu.ipu = profile_->ipuOf(placement_.device);
  ipu.cycles = step_.ticks.count;
  ipu.cyclesFrom = (placement_.start + step_.offset).count;
  ipu.cyclesTo = ipu.cyclesFrom + ipu.cycles;
  ipu.activeTiles = step_.activeUnits;
  if (step_.maxTicks.count > 0) ipu.tileBalance = step_.meanTicks / static_cast<double>(step_.maxTicks.count);
  ipu.dataIn = step_.bytesIn.count;
  ipu.dataOut = step_.bytesOut.count;
  return ipu;
}

std::vector<Run> Execution::runs() const {
  std::vector<Run> runs;
  const auto clock = static_cast<double>(profile_->catalog->timebase({}).ticksPerSecond) * 1e-6;
  for (const model::Run* row : profile_->catalog->runsOf(executable_)) {
    runs.push_back({row->id.value, row->name, row->start.count, row->end.count,
                    static_cast<double>(row->start.count) / clock, static_cast<double>(row->end.count) / clock,
                    row->samples});
  }
  return runs;
}

base::Status Execution::forEachStep(std::int64_t run, const std::function<bool(const ExecutionStep&)>& visit) const {
  const std::vector<const model::Run*> runs = profile_->catalog->runsOf(executable_);
  const auto found = std::find_if(runs.begin(), runs.end(), [&](const auto* row) { return row->id.value == run; });
  if (found == runs.end()) return base::badInput(fmt::format("The executable has no run {}.", run));
  PIPESCOPE_ASSIGN(const auto placements, analysis::rowsOfRun<model::Placement>(*profile_->source, **found));
  std::unordered_map<std::int64_t, std::vector<model::Step>> steps;
  for (const model::Placement& row : placements) steps[row.segment.value];
  PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> blocks, profile_->source->blocks<model::Step>());
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    PIPESCOPE_ASSIGN(const model::Rows<model::Step> rows, profile_->source->block<model::Step>(b));
    for (const model::Step& row : *rows) {
      if (const auto segment = steps.find(row.segment.value); segment != steps.end()) segment->second.push_back(row);
    }
  }
  ExecutionStep step;
  step.profile_ = profile_;
  for (const model::Placement& placement : placements) {
    step.placement_ = placement;
    for (const model::Step& row : steps[placement.segment.value]) {
      step.step_ = row;
      if (!visit(step)) return {};
    }
  }
  return {};
}

Result<std::vector<ExecutionStep>> Execution::steps(std::int64_t run, std::size_t most) const {
  std::vector<ExecutionStep> all;
  bool tooMany = false;
  PIPESCOPE_TRY(forEachStep(run, [&](const ExecutionStep& step) {
    tooMany = all.size() >= most;
    if (!tooMany) all.push_back(step);
    return !tooMany;
  }));
  if (tooMany)
    return base::badInput(fmt::format("Run {} has more than {} steps; walk them with forEachStep, or ask for a window.", run, most));
  return all;
}

Result<Report> Report::make(std::shared_ptr<const model::ProfileSource> source) {
  auto profile = std::make_shared<detail::Profile>();
  PIPESCOPE_ASSIGN(profile->catalog, analysis::loadCatalog(*source));
  profile->source = std::move(source);
  Report report;
  report.profile_ = std::move(profile);
  return report;
}

std::vector<std::string> Report::executables() const {
  std::vector<std::string> names;
  for (const model::Executable& row : profile_->catalog->executables) names.push_back(row.name);
  return names;
}

Result<Compilation> Report::compilation(const std::string& executable) const {
  PIPESCOPE_ASSIGN(const model::Executable* found, profile_->catalog->findExecutable(executable));
  Compilation compilation;
  compilation.profile_ = profile_;
  compilation.executable_ = found->id;
  return compilation;
}

Result<Execution> Report::execution(const std::string& executable) const {
  PIPESCOPE_ASSIGN(const model::Executable* found, profile_->catalog->findExecutable(executable));
  Execution execution;
  execution.profile_ = profile_;
  execution.executable_ = found->id;
  return execution;
}

Result<std::vector<Operation>> Report::operations(const std::string& executable) const {
  PIPESCOPE_ASSIGN(const model::Executable* found, profile_->catalog->findExecutable(executable));
  PIPESCOPE_ASSIGN(const auto rows, rowsWhere<model::Operator>(*profile_->source, [&](const auto& row) {
                     return row.executable == found->id;
                   }));
  std::vector<Operation> operations;
  for (const model::Operator& row : rows) {
    operations.push_back({contextOf(*profile_, row.debugContext), profile_->catalog->namePath(row.debugContext), row.kind,
                          model::toString(row.pass), row.stage, row.flops, row.bytes.count});
  }
  return operations;
}

std::string Report::property(const std::string& key) const {
  return profile_->catalog->property(key);
}

const model::ProfileSource& Report::source() const {
  return *profile_->source;
}

}  // namespace pipescope::pva
