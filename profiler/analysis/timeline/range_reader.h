#pragma once
// Answers one question of RangeIndex.
#include <array>
#include <unordered_map>
#include <vector>

#include "profiler/analysis/timeline/range.h"

namespace pipescope::analysis {

/// Joins spans that are too short to be seen, lane by lane.
class SpanJoiner {
 public:
  /// Lanes have the ids 0 … lanes − 1. All unknown ids share one extra lane.
  SpanJoiner(std::size_t lanes, Ticks resolution) : lanes_(lanes + 1), resolution_(resolution) {}
  /// Accepts the spans of a lane in any order; sorted by start is fastest.
  void add(const StepSpan& span);
  /// Returns the spans sorted by lane and then start.
  std::vector<StepSpan> finish();

 private:
  struct Lane {
    StepSpan open;
    bool any = false;
    std::array<std::int64_t, 16> ticks{};  // ticks of the open span, by kind
    std::vector<StepSpan> spans;
  };
  void close(Lane& lane);
  std::vector<Lane> lanes_;
  const Ticks resolution_;
};

class RangeReader {
 public:
  RangeReader(const RangeIndex& index, const RangeRequest& range, base::Progress& progress);
  base::Status spans(Ticks resolution, std::vector<StepSpan>& answer);

 private:
  /// Placements of the executable that meet the range.
  Result<std::vector<model::Placement>> placements();
  double expectedPlacements() const;
  base::Status everySpan(std::vector<StepSpan>& answer);
  void expectSteps(const std::vector<model::Placement>& found);
  template <class Visit>
  base::Status forEachSpan(const std::vector<model::Placement>& found, Visit&& visit);
  struct NodeFacts {
    std::int32_t level = 0, kind = 0;
    model::LaneId lane;
    std::int64_t owner = 0;
    Ticks start, end;
    std::int64_t count = 0;
  };
  template <class MayHold, class Visit>
  base::Status forEachNode(model::LevelContent content, MayHold&& mayHold, Visit&& visit);
  base::Status spansOfNodes(std::int32_t level, SpanJoiner& joiner);
  base::Status spansOfPlacement(const model::Placement& placement, Ticks resolution, SpanJoiner& joiner);
  /// The joined spans of a whole segment, made once for each question. Times are offsets.
  Result<const std::vector<StepSpan>*> joined(model::SegmentId segment, Ticks resolution);
  base::Status joinNodes(model::SegmentId segment, std::int32_t level, SpanJoiner& joiner);
  bool wants(model::LaneId lane) const;

  const RangeIndex& index_;
  RangeRequest range_;
  base::Progress& progress_;
  StepReader steps_;
  base::IdVector<model::LaneId, bool> lanes_;                       // empty: all
  std::unordered_map<std::int64_t, std::vector<StepSpan>> joined_;  // keyed by segment
};

}  // namespace pipescope::analysis
