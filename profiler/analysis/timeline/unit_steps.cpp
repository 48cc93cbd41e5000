#include "profiler/analysis/timeline/unit_steps.h"

#include <algorithm>
#include <limits>

#include "profiler/analysis/block_walk.h"

namespace pipescope::analysis {
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

Result<std::vector<UnitTicks>> UnitReader::of(std::int64_t stepRow, Ticks length, std::int64_t units) {
  std::vector<UnitTicks> runs;
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

}  // namespace pipescope::analysis
