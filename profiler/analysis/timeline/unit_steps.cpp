#include "profiler/analysis/timeline/unit_steps.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>

#include "profiler/analysis/timeline/step_blocks.h"

namespace pipescope::analysis {
namespace {

constexpr Ticks kUnitStepsMostTicks(std::int64_t{1} << 61);  // sums of two do not overflow

Result<std::vector<model::Placement>> placementsOf(const model::ProfileSource& source, const Catalog& catalog,
                                                   const UnitRequest& request, base::Progress& progress) {
  std::vector<model::Placement> found;
  if (request.to <= request.from) return found;
  PIPESCOPE_TRY(forEachRow<model::Placement>(
      source, progress,
      [&](const model::BlockInfo& block, const auto&) { return mayMeet(block, request.from, request.to); },
      [&](const model::Placement& row, std::int64_t) {
        const auto segment = static_cast<std::size_t>(row.segment.value);
        const bool possible = row.start >= Ticks(0) && row.end >= row.start &&
                              row.end <= kUnitStepsMostTicks && segment < catalog.segments.size();
        if (possible && row.device == request.device && row.start < request.to && row.end > request.from &&
            catalog.segments[segment].executable == request.executable)
          found.push_back(row);
        return true;
      }));
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.start < b.start; });
  return found;
}

Result<const model::Device*> deviceOf(const Catalog& catalog, model::DeviceId id) {
  const model::Device* device = catalog.device(id);
  if (device == nullptr)
    return base::badInput("The profile has no such device; choose one of those it lists.");
  return device;
}

UnitRequest clamped(UnitRequest request) {
  request.from = std::clamp(request.from, Ticks(0), kUnitStepsMostTicks);
  request.to = std::clamp(request.to, Ticks(0), kUnitStepsMostTicks);
  return request;
}

/// Sums by unit, as changes from one unit to the next. Sums of made-up lengths wrap.
class UnitTotals {
 public:
  explicit UnitTotals(std::int64_t units) : units_(std::max<std::int64_t>(1, units)) { changes_[0]; }

  void add(model::StepKind kind, const UnitRun& run, Ticks ticks, std::int64_t times) {
    if (ticks.count <= 0) return;
    const auto part = static_cast<std::size_t>(kind == model::StepKind::compute ? 0
                                               : kind == model::StepKind::sync  ? 2
                                                                                : 1);
    const std::uint64_t sum = static_cast<std::uint64_t>(ticks.count) * static_cast<std::uint64_t>(times);
    changes_[run.firstUnit][part] += sum;
    if (run.firstUnit + run.unitCount < units_) changes_[run.firstUnit + run.unitCount][part] -= sum;
  }

  std::vector<UnitSums> finish(Ticks placed, Ticks range) const {
    std::vector<UnitSums> all;
    std::array<std::uint64_t, 3> now{};
    for (auto change = changes_.begin(); change != changes_.end(); ++change) {
      for (std::size_t part = 0; part < now.size(); ++part) now[part] += change->second[part];
      const auto next = std::next(change);
      UnitSums sums;
      sums.firstUnit = change->first;
      sums.unitCount = (next == changes_.end() ? units_ : next->first) - change->first;
      sums.busy = Ticks(static_cast<std::int64_t>(now[0]));
      sums.exchange = Ticks(static_cast<std::int64_t>(now[1]));
      sums.sync = Ticks(static_cast<std::int64_t>(now[2]));
      const std::uint64_t works = now[0] + now[1] + now[2];
      sums.waiting = Ticks(static_cast<std::int64_t>(works < static_cast<std::uint64_t>(placed.count)
                                                         ? static_cast<std::uint64_t>(placed.count) - works
                                                         : 0));
      sums.idle = range - placed;
      if (!all.empty() && all.back().busy == sums.busy && all.back().exchange == sums.exchange &&
          all.back().sync == sums.sync) {
        all.back().unitCount += sums.unitCount;
      } else {
        all.push_back(sums);
      }
    }
    return all;
  }

 private:
  const std::int64_t units_;
  std::map<std::int64_t, std::array<std::uint64_t, 3>> changes_;
};

/// What the units do in one stretch of a segment, so many times.
base::Status addSegment(StepReader& steps, UnitReader& units, std::int64_t unitCount,
                        model::SegmentId segment, Ticks from, Ticks to, std::int64_t times,
                        UnitTotals& totals) {
  base::Status status;
  PIPESCOPE_TRY(steps.forEach(segment, from, to, [&](const StepFacts& step) {
    if (!status.ok()) return;
    auto runs = units.of(step.row, step.ticks, unitCount);
    if (!runs.ok()) {
      status = runs.error();
      return;
    }
    if (runs->empty() && step.kind == model::StepKind::sync) runs->push_back({0, unitCount, step.ticks});
    for (const UnitRun& run : *runs) {
      const Ticks length = std::min(step.offset + run.ticks, to) - std::max(step.offset, from);
      totals.add(step.kind, run, length, times);
    }
  }));
  return status;
}

}  // namespace

Result<bool> hasUnitSteps(const model::ProfileSource& source) {
  PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> blocks, source.blocks<model::StepUnits>());
  return std::any_of(blocks.begin(), blocks.end(), [](const auto& block) { return block.rows > 0; });
}

Result<UnitReader> UnitReader::make(const model::ProfileSource& source) {
  UnitReader reader(source);
  const std::size_t step = columnOf<model::StepUnits>("step");
  PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> blocks, source.blocks<model::StepUnits>());
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    Block& block = reader.blocks_.emplace_back();
    if (blocks[b].rows == 0) continue;
    PIPESCOPE_ASSIGN(const std::vector<model::ColumnRange> ranges, source.ranges<model::StepUnits>(b));
    block.firstStep = ranges[step].known ? ranges[step].smallest : 0;
    block.lastStep = ranges[step].known ? ranges[step].largest : std::numeric_limits<std::int64_t>::max();
  }
  return reader;
}

Result<std::vector<UnitRun>> UnitReader::of(std::int64_t stepRow, Ticks length, std::int64_t units) {
  std::vector<UnitRun> runs;
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    Block& block = blocks_[b];
    if (stepRow < block.firstStep || stepRow > block.lastStep) continue;
    if (!block.rows) {
      constexpr std::size_t kMostKept = 32;
      if (++kept_ > kMostKept) {
        for (Block& other : blocks_) other.rows = nullptr;
        kept_ = 1;
      }
      PIPESCOPE_ASSIGN(block.rows, source_->block<model::StepUnits>(b));
    }
    const auto byStep = [](const model::StepUnits& row, std::int64_t wanted) { return row.step < wanted; };
    const auto first = std::lower_bound(block.rows->begin(), block.rows->end(), stepRow, byStep);
    for (auto row = first; row != block.rows->end() && row->step == stepRow; ++row) {
      const std::int64_t free = runs.empty() ? 0 : runs.back().firstUnit + runs.back().unitCount;
      const bool fits = row->firstUnit >= free && row->firstUnit < units && row->unitCount > 0 &&
                        row->unitCount <= units - row->firstUnit && row->ticks >= Ticks(0) &&
                        row->ticks <= length;
      if (fits) runs.push_back({row->firstUnit, row->unitCount, row->ticks});
    }
  }
  return runs;
}

Result<UnitSteps> unitSteps(const model::ProfileSource& source, const Catalog& catalog,
                            const UnitRequest& asked, std::size_t most, base::Progress& progress) {
  const UnitRequest request = clamped(asked);
  PIPESCOPE_ASSIGN(const model::Device* device, deviceOf(catalog, request.device));
  PIPESCOPE_ASSIGN(const std::vector<model::Placement> placements,
                   placementsOf(source, catalog, request, progress));
  PIPESCOPE_ASSIGN(const StepBlocks blocks, StepBlocks::make(source));
  PIPESCOPE_ASSIGN(UnitReader units, UnitReader::make(source));
  StepReader reader(blocks, source, progress);
  UnitSteps result;
  for (const model::Placement& placement : placements) {
    if (!result.all) break;
    const Ticks from = request.from - placement.start, to = request.to - placement.start;
    base::Status status;
    PIPESCOPE_TRY(reader.forEach(placement.segment, from, to, [&](const StepFacts& step) {
      result.all = result.all && result.steps.size() < most;
      if (!result.all || !status.ok()) return;
      auto runs = units.of(step.row, step.ticks, device->units);
      if (!runs.ok()) {
        status = runs.error();
        return;
      }
      const Ticks start = placement.start + step.offset;
      result.steps.push_back({placement.id, step.lane, step.kind, step.program, start, start + step.ticks,
                              step.activeUnits, std::move(runs).value()});
    }));
    PIPESCOPE_TRY(status);
  }
  std::stable_sort(result.steps.begin(), result.steps.end(),
                   [](const auto& a, const auto& b) { return a.start < b.start; });
  return result;
}

Result<std::vector<UnitSums>> unitSums(const model::ProfileSource& source, const Catalog& catalog,
                                       const UnitRequest& asked, base::Progress& progress) {
  const UnitRequest request = clamped(asked);
  PIPESCOPE_ASSIGN(const model::Device* device, deviceOf(catalog, request.device));
  PIPESCOPE_ASSIGN(const std::vector<model::Placement> placements,
                   placementsOf(source, catalog, request, progress));
  PIPESCOPE_ASSIGN(const StepBlocks blocks, StepBlocks::make(source));
  PIPESCOPE_ASSIGN(UnitReader units, UnitReader::make(source));
  StepReader reader(blocks, source, progress);
  const std::int64_t count = std::max<std::int64_t>(1, device->units);
  UnitTotals totals(count);
  std::map<model::SegmentId, std::int64_t> whole;
  Ticks placed, reached = request.from;
  for (const model::Placement& placement : placements) {
    const Ticks start = std::max(placement.start, reached), end = std::min(placement.end, request.to);
    if (end > start) placed += end - start;
    reached = std::max(reached, end);
    if (placement.start >= request.from && placement.end <= request.to) {
      ++whole[placement.segment];
      continue;
    }
    PIPESCOPE_TRY(addSegment(reader, units, count, placement.segment, request.from - placement.start,
                             request.to - placement.start, 1, totals));
  }
  for (const auto& [segment, times] : whole)
    PIPESCOPE_TRY(addSegment(reader, units, count, segment, Ticks(0), kUnitStepsMostTicks, times, totals));
  return totals.finish(placed, std::max(Ticks(0), request.to - request.from));
}

}  // namespace pipescope::analysis
