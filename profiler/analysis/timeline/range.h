#pragma once
// Questions about a stretch of a profile, each bounded by what is asked and not by the file, and each stopped
// by its Progress at the next block (a few milliseconds).
//
// An index is made once per profile (and revision): it reads directories and the segments' table, no block.
// Times are ticks of the rows' own devices, as recorded. Lanes of devices with different timebases are asked
// separately.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "profiler/analysis/catalog.h"
#include "profiler/analysis/timeline/step_blocks.h"
#include "profiler/base/progress.h"

namespace pipescope::analysis {

/// Steps or, from afar, what many of them look like together.
struct StepSpan {
  model::LaneId lane;
  Ticks start, end;
  model::StepKind kind = model::StepKind::compute;  ///< of many: that with most time
  model::ProgramId program;                         ///< of one step
  model::PlacementId placement;                     ///< of one step, or of many of one placement
  std::int64_t steps = 1;                           ///< 0: not counted (nodes of placements)
};

/// Ticks of some steps; mean = sum ÷ count.
struct StepSums {
  std::string key;  ///< operation: name path; stage: number; category: StepKind
  std::int64_t count = 0;
  Ticks sum, min, max;
  double mean() const { return count == 0 ? 0 : static_cast<double>(sum.count) / static_cast<double>(count); }
};
enum class SumBy : std::uint8_t { operation, stage, category };

struct LiveEntry {
  model::VariableId id;
  std::string name, category;
  Bytes bytes;
  bool alwaysLive = false;
};

struct LivePeak {
  std::int32_t step = -1;  ///< −1: no step in the range
  Bytes notAlwaysLive;
};

struct NameHit {
  enum class What : std::uint8_t { name, segment, variable };
  What what = What::name;
  std::int64_t id = -1;  ///< DebugContextId, SegmentId or VariableId
  std::string text;      ///< name path
};

struct RangeRequest {
  model::ExecutableId executable;
  Ticks from, to;                    ///< [from, to)
  std::vector<model::LaneId> lanes;  ///< none: all
};

class RangeIndex {
 public:
  /// Cost: the directories of five tables (about 100 bytes a block of 16,384 rows).
  static Result<std::shared_ptr<const RangeIndex>> make(std::shared_ptr<const model::ProfileSource> source,
                                                        std::shared_ptr<const Catalog> catalog);

  /// Steps that meet the range, by lane, then start. Nothing shorter than `resolution` is reported by itself:
  /// neighbours of a lane are joined until they are that long. Placements that are short all together are
  /// taken from the pyramid, and so are the steps of long segments. Cost: blocks that meet the range and its
  /// lanes, but no more of them than the answer needs: of each segment that is placed in the range its steps
  /// once (at most 512 per pixel), however often it is placed; the answer has about (to − from) ÷ resolution
  /// spans a lane at most (0: every step). From afar, the last rows of a file that grows are missing: they
  /// are in no node yet.
  Result<std::vector<StepSpan>> steps(const RangeRequest& range, Ticks resolution,
                                      base::Progress& progress) const;
  /// The same into memory that was used before, whose spans are lost: fresh memory costs as much as reading.
  base::Status steps(const RangeRequest& range, Ticks resolution, base::Progress& progress,
                     std::vector<StepSpan>& answer) const;

  /// Whole steps that lie in placements that meet the range, clipped to it; largest sum first. Steps of
  /// placements that lie within the range are counted per segment, not one by one. Cost: the placements'
  /// blocks that meet the range and the steps' blocks of their segments.
  Result<std::vector<StepSums>> sums(const RangeRequest& range, SumBy by, base::Progress& progress) const;

  /// Variables of a memory space that are live during a program step, largest first; always-live ones where
  /// asked. Cost: the variables' blocks of the space, and the life intervals' that may hold the step.
  Result<std::vector<LiveEntry>> liveAt(model::MemorySpaceId space, std::int32_t step, bool alwaysLive,
                                        base::Progress& progress) const;
  /// The step of [first, end) with most bytes that are not always live. Cost: the blocks of the space's
  /// liveness steps in the range.
  Result<LivePeak> peakIn(model::ExecutableId executable, model::MemorySpaceId space, std::int32_t first,
                          std::int32_t end, base::Progress& progress) const;

  /// Names of operations, segments and variables that hold `text` (ASCII letters in either case), in the
  /// order of recording, at most `most`. Cost: names up to the last hit.
  Result<std::vector<NameHit>> search(const std::string& text, std::size_t most,
                                      base::Progress& progress) const;

 private:
  friend class RangeReader;
  RangeIndex() = default;
  std::shared_ptr<const model::ProfileSource> source_;
  std::shared_ptr<const Catalog> catalog_;
  std::vector<model::BlockInfo> placements_, nodes_;
  StepBlocks steps_;
};

}  // namespace pipescope::analysis
