#pragma once
// Summarises rows as LevelNodes while they are recorded. A zoomed-out view then reads a few nodes instead of
// all rows.
#include <array>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "profiler/model/columns.h"

namespace pipescope::model {

/// A node of level 1 summarises kRowsPerNode rows, or kStepsPerNode steps. A node of each higher level
/// summarises kNodesPerNode nodes of the level below.
inline constexpr std::int64_t kRowsPerNode = 8;
inline constexpr std::int64_t kStepsPerNode = 64;
inline constexpr std::int64_t kNodesPerNode = 8;
/// A lane of a segment with fewer steps has no nodes, because its steps are as quick to read.
inline constexpr std::int64_t kLeastStepsWithNodes = 128;
/// Least steps of a segment in which all lanes have nodes, and all on the same levels.
inline constexpr std::int64_t kStepsOfLongSegment = 16'384;

/// Takes rows in the order of recording. If the rows of a lane are not in order of time, their nodes overlap.
/// The builder needs a few hundred bytes per lane, plus the nodes of the segment whose steps arrive. A copy
/// is independent, so that a failed commit can be repeated.
class PyramidBuilder {
 public:
  /// Appends the nodes that are full. The last rows of a lane get their node in flush().
  void add(const RowSet& rows, std::vector<LevelNode>& nodes);
  /// Closes every open node. add() must not be called afterwards.
  void flush(std::vector<LevelNode>& nodes);

 private:
  struct Key {
    LevelContent content;
    std::int64_t owner, lane;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct Open {
    LevelNode node;
    std::int64_t members = 0;
    std::array<std::int64_t, 16> ticksOf{};  ///< ticks by kind; kinds of newer files share the last element
  };
  using Levels = std::vector<Open>;  ///< index: level − 1

  struct Item {
    Ticks start, length;
    std::int32_t kind = 0;
  };
  static bool count(Levels& levels, const Item& item, std::int64_t perNode);
  void addRow(const Key& key, Ticks start, Ticks end, std::int32_t kind, std::vector<LevelNode>& nodes);
  void close(const Key& key, Levels& levels, std::size_t level, std::vector<LevelNode>& nodes);
  void flushLevels(const Key& key, Levels& levels, std::vector<LevelNode>& nodes);
  void closeSegment(std::vector<LevelNode>& nodes);
  std::int64_t laneOf(SegmentId segment) const;
  std::int64_t deviceOf(LaneId lane) const;

  std::map<Key, Levels> open_;
  std::unordered_map<std::int64_t, std::int64_t> laneOfSegment_, deviceOfLane_;
  // The steps of a segment arrive together. The fields below belong to the current segment.
  SegmentId segment_;
  struct StepLane {
    std::int64_t lane = -1;
    Levels levels;
    std::int64_t steps = 0;
    std::vector<LevelNode> nodes;
  };
  inline StepLane& stepLaneOf(std::int64_t lane);
  StepLane& addStepLane(std::int64_t lane);
  std::vector<StepLane> stepLanes_;
  std::vector<std::size_t> stepLanePlaces_;  // index in stepLanes_ + 1 by lane id, for small ids; 0: none
  std::unordered_map<std::int64_t, std::size_t> otherStepLanes_;
};

}  // namespace pipescope::model
