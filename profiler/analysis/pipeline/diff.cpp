#include "profiler/analysis/pipeline/diff.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "profiler/analysis/pipeline/waits.h"
#include "profiler/base/wrapping.h"

namespace pipescope::analysis {
namespace {

__extension__ using Wide = __int128;  // products of ticks and clocks

/// Ticks of a profile in the timebase of the comparison, rounded down.
std::int64_t scaled(std::int64_t ticks, const Catalog& catalog, std::int64_t ticksPerSecond) {
  const std::int64_t own = catalog.timebase({}).ticksPerSecond;
  if (own == ticksPerSecond) return ticks;
  return static_cast<std::int64_t>(static_cast<Wide>(ticks) * ticksPerSecond / own);
}

using DiffKey = std::tuple<std::string, std::string, std::string, std::int32_t, std::int64_t>;
struct Sum {
  std::int64_t ticks = 0;
  std::map<std::int32_t, std::int64_t> microBatches;  // ticks by micro-batch; −1: no micro-batch
};
using Parts = std::map<DiffKey, Sum>;

void addTo(Sum& sum, std::int32_t microBatch, std::int64_t ticks) {
  base::addWrapped(sum.ticks, ticks);
  base::addWrapped(sum.microBatches[microBatch < 0 ? -1 : microBatch], ticks);
}

/// Ticks of a segment by operation. Each tick counts once. Ticks without a step count under the empty name.
using Shares = std::vector<std::pair<std::string, std::int64_t>>;

class PathParts {
 public:
  PathParts(const DiffSide& side, const Diff& diff)
      : side_(side),
        ticksPerSecond_(diff.ticksPerSecond),
        byOperator_(diff.families),
        anywhere_(diff.families || diff.splits) {
    for (const model::Stage* stage : side.catalog.stagesOf(side.executable)) {
      const auto [place, isFirst] = stageOf_.try_emplace(stage->device, stage->index);
      if (!isFirst) place->second = -1;
    }
  }

  Result<Parts> make(const model::Run& run) {
    std::vector<CriticalLink> found;
    if (side_.path == nullptr) {
      PIPESCOPE_ASSIGN(found, criticalPath(side_.source, side_.catalog, run.id));
    }
    const std::vector<CriticalLink>& path = side_.path == nullptr ? found : *side_.path;
    PIPESCOPE_TRY(readShares(path));
    std::int64_t total = 0;
    for (const CriticalLink& link : path) {
      add(link);
      base::addWrapped(total, (link.end - link.start).count);
    }
    // A run without placements has no path, so its whole length is one part.
    const std::int64_t rest = base::wrappedDifference((run.end - run.start).count, total);
    if (rest != 0) addTo(parts_[{"call", "", "", -1, -1}], -1, scale(rest));
    settle(scale((run.end - run.start).count));
    return std::move(parts_);
  }

 private:
  std::int64_t scale(std::int64_t ticks) const { return scaled(ticks, side_.catalog, ticksPerSecond_); }

  /// Adds a part for the ticks that the other parts lost by rounding.
  void settle(std::int64_t span) {
    for (const auto& [key, sum] : parts_) span -= sum.ticks;
    if (span != 0) addTo(parts_[{"rounding", "", "", -1, -1}], -1, span);
  }

  /// Part of a step that counts.
  struct PathStep {
    Ticks offset, ticks;
    model::ProgramId program;
  };

  base::Status readShares(const std::vector<CriticalLink>& path) {
    std::unordered_map<model::SegmentId, std::vector<PathStep>> steps;
    for (const CriticalLink& link : path) {
      if (link.kind == CriticalLink::Kind::placement) steps[link.segment];
    }
    PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> blocks, side_.source.blocks<model::Step>());
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      PIPESCOPE_ASSIGN(const model::Rows<model::Step> rows, side_.source.block<model::Step>(b));
      for (const model::Step& row : *rows) {
        if (const auto found = steps.find(row.segment); found != steps.end())
          found->second.push_back({row.offset, row.ticks, row.program});
      }
    }
    for (auto& [segment, rows] : steps) shares_[segment] = sharesOf(rows);
    return {};
  }

  Shares sharesOf(std::vector<PathStep>& steps) {
    std::stable_sort(steps.begin(), steps.end(),
                     [](const auto& a, const auto& b) { return a.offset < b.offset; });
    std::map<std::string, std::int64_t> sums;
    Ticks reached;
    for (const PathStep& step : steps) {
      const Ticks from = std::max(step.offset, reached), to = step.offset + step.ticks;
      if (to <= from) continue;
      base::addWrapped(sums[pathOf(step.program)], (to - from).count);
      reached = to;
    }
    return {sums.begin(), sums.end()};
  }

  std::string pathOf(model::ProgramId id) {
    const auto [place, added] = names_.try_emplace(id.value);
    if (added && side_.catalog.programs.contains(id)) {
      const model::Program program = side_.catalog.programs[id];
      const bool known = byOperator_ && side_.catalog.operators.contains(program.op);
      place->second = side_.catalog.namePath(known ? side_.catalog.operators[program.op].debugContext
                                                   : program.debugContext);
      if (place->second.empty()) place->second = program.kind;
    }
    return place->second;
  }

  void add(const CriticalLink& link) {
    std::int64_t length = (link.end - link.start).count;
    const auto count = [&](const char* kind, const std::string& operation, std::int64_t ticks) {
      if (ticks == 0) return;
      const bool call = link.kind == CriticalLink::Kind::call || anywhere_;
      const bool isPlaced = link.kind == CriticalLink::Kind::placement;
      const std::string pass = isPlaced ? model::toString(link.pass) : "";
      const std::int32_t stage = call ? -1 : isPlaced ? link.stage : stageOn(link.device);
      Sum& sum = parts_[{kind, operation, pass, stage, call ? -1 : link.device.value}];
      addTo(sum, link.microBatch, scale(ticks));
    };
    if (link.kind != CriticalLink::Kind::placement) {
      return count(link.kind == CriticalLink::Kind::call ? "call" : "transfer", "", length);
    }
    for (const auto& [operation, ticks] : shares_[link.segment]) {
      const std::int64_t part =
          std::min(ticks, length);  // the steps of a damaged segment may be longer than it
      count("placement", operation, part);
      length -= part;
    }
    count("between_steps", "", length);
  }

  /// The stage that a device holds; −1: none, or several. A transfer belongs to its device: the placement
  /// before it may be a sync, which has no stage under some schedules and one under others.
  std::int32_t stageOn(model::DeviceId device) const {
    const auto found = stageOf_.find(device);
    return found == stageOf_.end() ? -1 : found->second;
  }

  const DiffSide& side_;
  const std::int64_t ticksPerSecond_;
  const bool byOperator_, anywhere_;
  Parts parts_;
  std::map<model::DeviceId, std::int32_t> stageOf_;
  std::unordered_map<model::SegmentId, Shares> shares_;
  std::unordered_map<std::int64_t, std::string> names_;
};

template <class Part>
void largestFirst(std::vector<Part>& parts) {
  std::erase_if(parts, [](const Part& part) { return part.delta() == 0; });
  std::stable_sort(parts.begin(), parts.end(),
                   [](const Part& a, const Part& b) { return std::abs(a.delta()) > std::abs(b.delta()); });
}

/// Sorts by the change per sample when the calls have different numbers of samples.
template <class Part>
void largestPerSampleFirst(const Diff& diff, std::vector<Part>& parts) {
  std::erase_if(parts, [&](const Part& part) { return diff.changePerSample(part) == 0; });
  std::stable_sort(parts.begin(), parts.end(), [&](const Part& a, const Part& b) {
    return std::abs(diff.changePerSample(a)) > std::abs(diff.changePerSample(b));
  });
}

/// The blocks and the device of each stage.
std::vector<std::pair<std::string, model::DeviceId>> splitOf(const DiffSide& side) {
  std::vector<std::pair<std::string, model::DeviceId>> split;
  for (const model::Stage* stage : side.catalog.stagesOf(side.executable))
    split.emplace_back(stage->blocks, stage->device);
  return split;
}

base::Status addMemory(const DiffSide& side, bool after,
                       std::map<std::pair<std::string, std::string>, MemoryChange>& parts) {
  PIPESCOPE_ASSIGN(const model::Rows<model::UnitMemory> rows, side.source.rows<model::UnitMemory>());
  for (const model::UnitMemory& row : *rows) {
    const model::MemorySpace* space = side.catalog.memorySpaces.find(row.space);
    if (row.executable != side.executable || row.category == "gap" || space == nullptr) continue;
    const model::Device* device = side.catalog.device(space->device);
    std::string name = device == nullptr ? "host" : device->name;
    if (space->kind == "streaming_memory") name += " streaming memory";
    MemoryChange& part = parts[{name, row.category}];
    part.device = name;
    part.index = device == nullptr ? -1 : device->id.value;
    part.category = row.category;
    base::addWrapped(after ? part.after : part.before, base::wrappedProduct(row.bytes.count, row.unitCount));
  }
  return {};
}

}  // namespace

Result<Diff> diffOfCalls(const DiffSide& before, const DiffSide& after) {
  constexpr std::int64_t kPicoseconds = 1'000'000'000'000;
  Diff result;
  result.versions = changedVersions(before.catalog, after.catalog);
  result.options = changedOptions(before.catalog, after.catalog);
  const std::int64_t first = before.catalog.timebase({}).ticksPerSecond,
                     second = after.catalog.timebase({}).ticksPerSecond;
  result.ticksPerSecond = first == second ? first : kPicoseconds;
  result.families = before.catalog.target.family != after.catalog.target.family;
  result.splits = splitOf(before) != splitOf(after);
  for (const bool isAfter : {false, true}) {
    const Catalog& catalog = (isAfter ? after : before).catalog;
    const model::Run* run = catalog.lastRunOf((isAfter ? after : before).executable);
    if (run == nullptr) {
      return base::badInput(std::string("The ") + (isAfter ? "second" : "first") +
                            " profile has no call of this executable: there is no time to compare.");
    }
    (isAfter ? result.after : result.before) =
        scaled((run->end - run->start).count, catalog, result.ticksPerSecond);
    (isAfter ? result.samplesAfter : result.samplesBefore) = run->samples;
    (isAfter ? result.devicesAfter : result.devicesBefore) = catalog.target.devicesUsed;
  }
  return result;
}

Result<Diff> diff(const DiffSide& before, const DiffSide& after) {
  PIPESCOPE_ASSIGN(Diff result, diffOfCalls(before, after));
  std::map<DiffKey, TimePart> time;
  std::map<std::string, PassPart> passes;
  std::map<std::int32_t, MicroBatchPart> microBatches;
  for (const bool isAfter : {false, true}) {
    const DiffSide& side = isAfter ? after : before;
    PIPESCOPE_ASSIGN(const Parts parts,
                     PathParts(side, result).make(*side.catalog.lastRunOf(side.executable)));
    for (const auto& [key, sum] : parts) {
      const std::string pass = std::get<2>(key).empty() ? std::get<0>(key) : std::get<2>(key);
      passes[pass].kind = pass;
      base::addWrapped(isAfter ? passes[pass].after : passes[pass].before, sum.ticks);
      TimePart& part = time[key];
      std::tie(part.kind, part.operation, part.pass, part.stage, part.device) = key;
      base::addWrapped(isAfter ? part.after : part.before, sum.ticks);
      (isAfter ? part.microBatchesAfter : part.microBatchesBefore) =
          static_cast<std::int64_t>(sum.microBatches.size() - sum.microBatches.count(-1));
      for (const auto& [microBatch, ticks] : sum.microBatches) {
        microBatches[microBatch].microBatch = microBatch;
        base::addWrapped(isAfter ? microBatches[microBatch].after : microBatches[microBatch].before, ticks);
      }
    }
  }
  for (auto& [key, part] : time) result.time.push_back(std::move(part));
  for (auto& [key, part] : passes) result.passes.push_back(std::move(part));
  if (result.perSample()) {
    largestPerSampleFirst(result, result.time);
    largestPerSampleFirst(result, result.passes);
  } else {
    largestFirst(result.time);
    largestFirst(result.passes);
  }
  for (const auto& [microBatch, part] : microBatches) result.microBatches.push_back(part);
  largestFirst(result.microBatches);
  std::map<std::pair<std::string, std::string>, MemoryChange> memory;
  PIPESCOPE_TRY(addMemory(before, false, memory));
  PIPESCOPE_TRY(addMemory(after, true, memory));
  for (auto& [key, part] : memory) result.memory.push_back(std::move(part));
  largestFirst(result.memory);
  return result;
}

}  // namespace pipescope::analysis
