#pragma once
// Finds the steps of a segment through the directory and reads them by column.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "profiler/analysis/block_walk.h"
#include "profiler/analysis/catalog.h"

namespace pipescope::analysis {

/// The columns of a step that questions need.
struct StepFacts {
  std::int64_t row = 0;  ///< row in table step
  model::LaneId lane;
  Ticks offset, ticks;
  model::StepKind kind = model::StepKind::compute;
  model::ProgramId program;
  std::int64_t activeUnits = 0;
};

/// The directory of table step: which blocks may hold the steps of a segment in a range of offsets.
class StepBlocks {
 public:
  static Result<StepBlocks> make(const model::ProfileSource& source);

  /// Indices of the blocks that may hold steps of the segment in [from, to), ascending.
  std::vector<std::size_t> of(model::SegmentId segment, Ticks from, Ticks to) const;
  std::int64_t rowsIn(std::size_t block) const { return blocks_[block].rows; }
  std::int64_t firstRowOf(std::size_t block) const { return blocks_[block].firstRow; }

 private:
  struct Block {
    std::int64_t rows = 0, firstRow = 0;
    std::int64_t firstSegment = 0, lastSegment = -1;
    std::int64_t firstOffset = 0, lastOffset = 0;  // offsets of the rows' starts
  };
  std::vector<Block> blocks_;
  bool ascending_ = true;  // true if sorted by first and last segment
  std::int64_t longestStep_ = 0;
};

/// Reads steps for one question. Remembers where segments begin in the blocks that it has read.
class StepReader {
 public:
  StepReader(const StepBlocks& blocks, const model::ProfileSource& source, base::Progress& progress);

  /// Calls visit(StepFacts) for the steps of the segment in [from, to), in the order of recording.
  template <class Visit>
  base::Status forEach(model::SegmentId segment, Ticks from, Ticks to, Visit&& visit) {
    std::vector<std::uint32_t> rows = std::move(rows_);
    for (const std::size_t b : blocks_.of(segment, from, to)) {
      PIPESCOPE_TRY(stopped(progress_));
      PIPESCOPE_ASSIGN(Opened* const block, open(b));
      const auto& columns = block->columns->columns;
      const View lanes(columns[lane_]), offsets(columns[offset_]), lengths(columns[ticks_]),
          kinds(columns[kind_]), programs(columns[program_]), units(columns[units_]);
      const std::int64_t firstRow = blocks_.firstRowOf(b);
      for (Run& run : block->runs) {
        if (run.segment != segment.value) continue;
        for (const std::uint32_t i : findRows(run, offsets, lengths, from, to, rows)) {
          visit(StepFacts{firstRow + static_cast<std::int64_t>(i), model::LaneId(lanes[i]), Ticks(offsets[i]),
                          Ticks(lengths[i]), static_cast<model::StepKind>(kinds[i]),
                          model::ProgramId(programs[i]), units[i]});
        }
      }
    }
    rows_ = std::move(rows);  // memory for the next question
    return {};
  }

 private:
  // The sum of two such times does not overflow.
  static constexpr std::int64_t kMostTicks = std::int64_t{1} << 61;
  /// Looks up once where the numbers of a column lie. Loops that write to memory would look it up again for
  /// every row.
  class View {
   public:
    explicit View(const model::IntegerColumn& column)
        : data_(column.values.empty() ? &column.constant : column.values.data()),
          mask_(column.values.empty() ? 0 : ~std::size_t{0}) {}
    std::int64_t operator[](std::size_t row) const { return data_[row & mask_]; }
    /// The address of this row's number; null if all rows have the same number.
    const std::int64_t* contiguous(std::size_t row) const { return mask_ == 0 ? nullptr : data_ + row; }

   private:
    const std::int64_t* data_;
    std::size_t mask_;  ///< 0: all rows have the same number
  };
  struct Run {
    std::int64_t segment = 0;
    std::size_t first = 0, end = 0;
    Ticks from, to;  ///< the last range that was asked for; its rows are kept in case it is asked for again
    std::size_t firstFound = 0, endFound = 0;
    bool allFound = false;  ///< true if every row from firstFound to endFound lies in the range
  };
  struct Opened {
    std::shared_ptr<const model::ColumnBlock> columns;
    std::vector<Run> runs;
  };
  Result<Opened*> open(std::size_t block);
  /// The rows of a run in [from, to). Reuses `memory`.
  static std::span<const std::uint32_t> findRows(Run& run, const View& offsets, const View& lengths,
                                                 Ticks from, Ticks to, std::vector<std::uint32_t>& memory);

  const StepBlocks& blocks_;
  const model::ProfileSource& source_;
  base::Progress& progress_;
  std::size_t segment_, lane_, offset_, ticks_, kind_, program_, units_;  // places of the columns
  std::unordered_map<std::size_t, Opened> opened_;
  std::vector<std::uint32_t> rows_;
};

}  // namespace pipescope::analysis
