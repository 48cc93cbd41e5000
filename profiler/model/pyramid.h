#pragma once
// Makes LevelNodes of rows as they come: pictures from afar then cost what they show, not what the file
// holds.
#include <array>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "profiler/model/columns.h"

namespace pipescope::model {

/// Rows of a node of level 1, and nodes of level n of one of level n + 1.
inline constexpr std::int64_t kRowsPerNode = 8;
inline constexpr std::int64_t kStepsPerNode = 64;
inline constexpr std::int64_t kNodesPerNode = 8;
/// Lanes of a segment with fewer steps have no nodes: their steps themselves are as quick.
inline constexpr std::int64_t kLeastStepsWithNodes = 128;
/// Except where the segment is this long: then all of its lanes have nodes, of the same levels.
inline constexpr std::int64_t kStepsOfLongSegment = 16'384;

/// Takes rows in the order of recording. Rows of one lane are expected to ascend in time; where they do not,
/// the nodes overlap. Memory: a few hundred bytes a lane, and the nodes of the segment whose steps are
/// coming. Copies are independent, so that a commit that failed can be tried again.
class PyramidBuilder {
 public:
  /// Appends the nodes that are full. A lane's last rows are in no node before flush().
  void add(const RowSet& rows, std::vector<LevelNode>& nodes);
  /// Closes every open node; nothing may be added afterwards.
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
    std::array<std::int64_t, 16> ticksOf{};  ///< by kind; kinds of newer files share the last
  };
  using Levels = std::vector<Open>;  ///< by level − 1

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
  // Steps of one segment after the other.
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
  std::vector<std::size_t> stepLanePlaces_;  // by lane, as far as lanes have small numbers: place + 1, or 0
  std::unordered_map<std::int64_t, std::size_t> otherStepLanes_;
};

}  // namespace pipescope::model
