#pragma once
// One question of RangeIndex about placements and steps.
#include <map>
#include <set>
#include <unordered_map>
#include <vector>

#include "profiler/analysis/range.h"

namespace pipescope::analysis {

class RangeReader {
 public:
  RangeReader(const RangeIndex& index, const RangeRequest& range, base::Progress& progress);
  Result<std::vector<StepSpan>> spans(Ticks resolution);
  Result<std::vector<StepSums>> sums(SumBy by);

 private:
  /// Placements of the executable that meet the range.
  Result<std::vector<model::Placement>> placements();
  double expectedPlacements() const;
  base::Status spansOfNodes(std::int32_t level, Ticks resolution);
  base::Status spansOfPlacement(const model::Placement& placement, Ticks resolution);
  /// Calls visit for steps of the segment whose offsets meet [from, to).
  template <class Visit>
  base::Status forEachStep(model::SegmentId segment, Ticks from, Ticks to, Visit&& visit);
  struct StepRun {
    model::SegmentId segment;
    std::size_t first = 0, end = 0;
  };
  const std::vector<StepRun>& runsOf(std::size_t block, const std::vector<model::Step>& rows);
  bool wants(model::LaneId lane) const { return lanes_.empty() || lanes_.count(lane) != 0; }
  void add(StepSpan span, Ticks resolution);

  const RangeIndex& index_;
  const RangeRequest& range_;
  base::Progress& progress_;
  std::set<model::LaneId> lanes_;
  struct Pending {
    StepSpan span;
    std::map<model::StepKind, std::int64_t> ticks;
    bool any = false;
  };
  std::unordered_map<std::int64_t, Pending> pending_;  // by lane: what is not long enough yet
  std::unordered_map<std::size_t, std::vector<StepRun>> runs_;
  std::vector<StepSpan> result_;
  void flush(Pending& pending);
};

}  // namespace pipescope::analysis
