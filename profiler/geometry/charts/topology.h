#pragma once
// A picture of a system: its chips in the boxes that hold them, and the links between them by use.
#include <string>
#include <vector>

#include "profiler/geometry/shapes.h"

namespace pipescope::geometry {

struct TopologyChip {
  std::string name, note;  ///< note: what it holds, such as "stage 2"
  ColourRole role = ColourRole::idle;
  double host = 0;  ///< use of its links with the host, 0…1
};

/// A link in both directions.
struct TopologyLink {
  int from = 0, to = 0;  ///< indices of chips
  double bytesPerSecond = 0;
  double share = 0;  ///< time in use ÷ length of the call, of the direction that is used more
  ColourRole role = ColourRole::idle;
  std::string kind = {};  ///< "RoCE"
};

/// Finds the boxes of a system: sets of chips that links of the commonest kind join. Others, which are few,
/// join boxes. Returns the box of each chip, in the order of their first chips.
std::vector<int> boxesOf(int chips, const std::vector<TopologyLink>& links);

/// Chips that are all linked with each other lie on a ring, others in two rows, pair by pair, as on a ladder.
/// Items of the chart are the chips, then the links. A system of very many chips has small chips without
/// names, and then boxes without chips.
class Topology {
 public:
  static constexpr int kMostChips = 1024;  ///< more chips are drawn as boxes only
  static constexpr int kMostBoxes = 4096;  ///< more boxes are left out

  Topology() = default;
  Topology(std::vector<TopologyChip> chips, std::vector<TopologyLink> links, int width);

  Shapes draw(const TextMeasure& measure, int marked = -1) const;
  int hit(int x, int y) const;  ///< −1: none
  Box boxOf(int item) const;    ///< empty if it is not drawn
  int height() const { return height_; }
  int boxCount() const { return static_cast<int>(frames_.size()); }
  int chipCount() const { return static_cast<int>(chips_.size()); }

 private:
  struct Size {
    int chip, gap;
    bool named;
  };
  struct Arrangement {
    std::vector<Box> chips;  ///< places within the box
    int width = 0, height = 0;
  };
  Size sizeFor(int chips) const;
  Arrangement arrange(const std::vector<int>& members, const Size& size) const;
  Arrangement ring(std::size_t count, const Size& size) const;
  Arrangement ladder(const std::vector<int>& members, const Size& size) const;
  bool isComplete(const std::vector<int>& members) const;
  void drawChip(int chip, const TextMeasure& measure, Shapes& shapes) const;

  std::vector<TopologyChip> chips_;
  std::vector<TopologyLink> links_;
  std::vector<std::vector<int>> linksOf_;  ///< links of each chip
  std::vector<Box> places_, frames_;       ///< of chips and of boxes
  std::vector<int> frameOf_, firstOf_;     ///< box of each chip, first chip of each box
  int width_ = 0, height_ = 0;
  bool named_ = true;
};

}  // namespace pipescope::geometry
