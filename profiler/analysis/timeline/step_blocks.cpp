#include "profiler/analysis/timeline/step_blocks.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "profiler/base/wrapping.h"

namespace pipescope::analysis {

Result<StepBlocks> StepBlocks::make(const model::ProfileSource& source) {
  StepBlocks all;
  PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> steps, source.blocks<model::Step>());
  const std::size_t segment = columnOf<model::Step>("segment"), offset = columnOf<model::Step>("offset"),
                    ticks = columnOf<model::Step>("ticks");
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  for (std::size_t b = 0; b < steps.size(); ++b) {
    Block block;
    block.firstRow = steps[b].firstRow;
    if (steps[b].rows > 0) {  // a block without rows is damaged
      PIPESCOPE_ASSIGN(const std::vector<model::ColumnRange> ranges, source.ranges<model::Step>(b));
      block.rows = steps[b].rows;
      block.firstSegment = ranges[segment].known ? ranges[segment].smallest : 0;
      block.lastSegment = ranges[segment].known ? ranges[segment].largest : kMost;
      block.firstOffset = ranges[offset].known ? ranges[offset].smallest : 0;
      block.lastOffset = ranges[offset].known ? ranges[offset].largest : kMost;
      all.longestStep_ = std::max(all.longestStep_, ranges[ticks].known ? ranges[ticks].largest : kMost);
    } else if (!all.blocks_.empty()) {
      block.firstSegment = all.blocks_.back().firstSegment,
      block.lastSegment = all.blocks_.back().lastSegment;
    }
    if (!all.blocks_.empty()) {
      const Block& before = all.blocks_.back();
      all.ascending_ = all.ascending_ && before.firstSegment <= block.firstSegment &&
                       before.lastSegment <= block.lastSegment;
    }
    all.blocks_.push_back(block);
  }
  return all;
}

std::vector<std::size_t> StepBlocks::of(model::SegmentId segment, Ticks from, Ticks to) const {
  auto first = blocks_.begin(), end = blocks_.end();
  if (ascending_) {
    first = std::partition_point(first, end, [&](const Block& b) { return b.lastSegment < segment.value; });
    end = std::partition_point(first, end, [&](const Block& b) { return b.firstSegment <= segment.value; });
  }
  const std::int64_t earliest = from.count < longestStep_ ? -1 : from.count - longestStep_;
  std::vector<std::size_t> found;
  for (auto block = first; block != end; ++block) {
    if (block->rows == 0 || segment.value < block->firstSegment || segment.value > block->lastSegment)
      continue;
    // The range of offsets in a block with several segments says nothing about this segment.
    const bool alone = block->firstSegment == block->lastSegment;
    if (alone && (block->firstOffset >= to.count || block->lastOffset < earliest)) continue;
    found.push_back(static_cast<std::size_t>(block - blocks_.begin()));
  }
  return found;
}

StepReader::StepReader(const StepBlocks& blocks, const model::ProfileSource& source, base::Progress& progress)
    : blocks_(blocks),
      source_(source),
      progress_(progress),
      segment_(columnOf<model::Step>("segment")),
      lane_(columnOf<model::Step>("lane")),
      offset_(columnOf<model::Step>("offset")),
      ticks_(columnOf<model::Step>("ticks")),
      kind_(columnOf<model::Step>("kind")),
      program_(columnOf<model::Step>("program")),
      units_(columnOf<model::Step>("active_units")) {}

Result<StepReader::Opened*> StepReader::open(std::size_t block) {
  if (const auto known = opened_.find(block); known != opened_.end()) return &known->second;
  // The source's cache keeps blocks that are needed often. This list only keeps blocks that several
  // placements of one question share.
  constexpr std::size_t kMostOpened = 128;
  if (opened_.size() >= kMostOpened) opened_.clear();
  Opened opened;
  PIPESCOPE_ASSIGN(opened.columns, source_.columns<model::Step>(block));
  const model::IntegerColumn& segments = opened.columns->columns[segment_];
  const std::size_t rows = opened.columns->rows;
  if (segments.values.empty() && rows > 0) opened.runs.push_back({segments.constant, 0, rows});
  for (std::size_t i = 0; i < segments.values.size(); ++i) {
    if (opened.runs.empty() || opened.runs.back().segment != segments.values[i])
      opened.runs.push_back({segments.values[i], i, i});
    opened.runs.back().end = i + 1;
  }
  return &opened_.emplace(block, std::move(opened)).first->second;
}

namespace {

enum class Meeting : std::uint8_t { none, some, all };

/// Says whether none, some or all of the steps overlap [from, to). It says "all" only if the times of every
/// step are possible.
Meeting meetingOf(const std::int64_t* starts, const std::int64_t* ticks, std::size_t count, std::int64_t from,
                  std::int64_t to, std::int64_t longest) {
  // The results are as wide as the compared numbers, so that the compiler can use vector instructions.
  std::int64_t any = 0, all = 1;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t meets = ((starts[i] < to) & (base::wrappedSum(starts[i], ticks[i]) > from)) ? 1 : 0;
    any |= meets;
    all &= meets & (((starts[i] >= 0) & (ticks[i] >= 0) & (ticks[i] <= longest)) ? 1 : 0);
  }
  return all != 0 ? Meeting::all : any != 0 ? Meeting::some : Meeting::none;
}

}  // namespace

std::span<const std::uint32_t> StepReader::findRows(Run& run, const View& offsets, const View& lengths,
                                                    Ticks from, Ticks to,
                                                    std::vector<std::uint32_t>& memory) {
  const auto limit = static_cast<std::uint64_t>(std::clamp<std::int64_t>(to.count, 0, kMostTicks + 1));
  const auto meets = [&offsets, &lengths, limit, from](std::size_t i) {
    // Negative numbers are very large as unsigned ones and fail the comparisons.
    const auto offset = static_cast<std::uint64_t>(offsets[i]),
               length = static_cast<std::uint64_t>(lengths[i]);
    return (offset < limit) & (length <= static_cast<std::uint64_t>(kMostTicks)) &
           (static_cast<std::int64_t>(offset + length) > from.count);
  };
  const bool known = run.from == from && run.to == to;
  const std::size_t first = known ? run.firstFound : run.first, last = known ? run.endFound : run.end;
  if (memory.size() < last - first) memory.resize(last - first);
  std::uint32_t* const into = memory.data();
  if (known && run.allFound) {
    std::iota(into, into + (last - first), static_cast<std::uint32_t>(first));
    return {into, last - first};
  }
  std::size_t count = 0;
  // Most traces are in order of time. The loop therefore passes over many rows at once before, in and after
  // the range.
  constexpr std::size_t kAtOnce = 64;
  for (std::size_t i = first, end = first; i < last; i = end) {
    end = std::min(i + kAtOnce, last);
    const std::int64_t *const starts = offsets.contiguous(i), *const ticks = lengths.contiguous(i);
    const bool inVectors = starts != nullptr && ticks != nullptr;
    const Meeting meeting = inVectors ? meetingOf(starts, ticks, end - i, from.count,
                                                  static_cast<std::int64_t>(limit), kMostTicks)
                                      : Meeting::some;
    if (meeting == Meeting::all) {
      std::iota(into + count, into + count + (end - i), static_cast<std::uint32_t>(i));
      count += end - i;
    }
    for (; meeting == Meeting::some && i < end; ++i) {
      into[count] = static_cast<std::uint32_t>(i);
      count += static_cast<std::size_t>(meets(i));
    }
  }
  run.from = from, run.to = to;
  run.firstFound = count == 0 ? first : into[0], run.endFound = count == 0 ? first : into[count - 1] + 1;
  run.allFound = count == run.endFound - run.firstFound;
  return {into, count};
}

}  // namespace pipescope::analysis
