#pragma once
// Reads the steps of a time range. The cost depends on the range and the resolution, not on the size of the
// file. A Progress can stop it at the next block, within a few milliseconds.
//
// Make an index once for each profile and revision. It reads directories and the table of segments, but no
// block. Times are ticks of the rows' own devices, as recorded. Ask separately for lanes of devices with
// different timebases.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "profiler/analysis/catalog.h"
#include "profiler/analysis/timeline/step_blocks.h"
#include "profiler/base/progress.h"

namespace pipescope::analysis {

/// One step, or several neighbouring steps that are too short to show.
struct StepSpan {
  model::LaneId lane;
  Ticks start, end;
  model::StepKind kind = model::StepKind::compute;  ///< kind with most time if there are several steps
  model::ProgramId program;                         ///< program of one step
  model::PlacementId placement;  ///< placement of one step, or of several steps of one placement
  std::int64_t steps = 1;        ///< 0: not counted (nodes of placements)
};

struct RangeRequest {
  model::ExecutableId executable;
  Ticks from, to;                    ///< [from, to)
  std::vector<model::LaneId> lanes;  ///< none: all
};

class RangeIndex {
 public:
  /// Reads the directories of three tables: about 100 bytes for each block of 16,384 rows.
  static Result<std::shared_ptr<const RangeIndex>> make(std::shared_ptr<const model::ProfileSource> source,
                                                        std::shared_ptr<const Catalog> catalog);

  /// The steps in the range, sorted by lane and then start. Steps that are shorter than `resolution` are
  /// joined with their neighbours on the lane until they are that long; 0 gives every step. The answer has at
  /// most about (to − from) ÷ resolution spans for each lane. Very short placements and the steps of long
  /// segments come from the profile's LevelNodes; those lack the last rows of a file that is still being
  /// written. Reads each segment's steps once, at most 512 for each pixel, however often the segment is
  /// placed.
  Result<std::vector<StepSpan>> steps(const RangeRequest& range, Ticks resolution,
                                      base::Progress& progress) const;
  /// Does the same, but reuses the memory of `answer`, because fresh memory costs as much as reading.
  base::Status steps(const RangeRequest& range, Ticks resolution, base::Progress& progress,
                     std::vector<StepSpan>& answer) const;

 private:
  friend class RangeReader;
  RangeIndex() = default;
  std::shared_ptr<const model::ProfileSource> source_;
  std::shared_ptr<const Catalog> catalog_;
  std::vector<model::BlockInfo> placements_, nodes_;
  StepBlocks steps_;
};

}  // namespace pipescope::analysis
