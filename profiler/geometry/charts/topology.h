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
  bool trunk = false;     ///< joins the boxes of its ends, over a network that the profile does not name
};

/// Numbers of chips of a box and of a domain of boxes; 0: not known.
struct TopologyParts {
  int chipsOfBox = 0, chipsOfDomain = 0;
};

/// Returns the box of each chip, in the order of their first chips. Where the size of a box is not known,
/// links of the commonest kind join the chips of a box. Other links, which are few, join boxes.
std::vector<int> boxesOf(int chips, const std::vector<TopologyLink>& links, int chipsOfBox = 0);

/// Chips that are all linked with each other lie on a ring, others in two rows, pair by pair, as on a ladder.
/// Links between boxes run beside the boxes, and never over chips. Items of the chart are the chips, then the
/// links. A system of very many chips has small chips without names and links, and then boxes without chips.
class Topology {
 public:
  static constexpr int kMostLinked = 1024;  ///< more chips have no links in the picture
  static constexpr int kMostChips = 16384;  ///< more chips are drawn as boxes only
  static constexpr int kMostBoxes = 16384;  ///< more boxes are left out

  Topology() = default;
  Topology(std::vector<TopologyChip> chips, std::vector<TopologyLink> links, int width,
           TopologyParts parts = {});

  Shapes draw(const TextMeasure& measure, int marked = -1) const;
  int hit(int x, int y) const;  ///< −1: none
  Box boxOf(int item) const;    ///< empty if it is not drawn
  int height() const { return height_; }
  int usedWidth() const;  ///< width of all boxes, with a margin on both sides
  int boxCount() const { return static_cast<int>(frames_.size()); }
  int domainCount() const { return static_cast<int>(domains_.size()); }
  int chipCount() const { return static_cast<int>(chips_.size()); }
  bool named() const { return named_; }  ///< the chips show their names

 private:
  struct Size {
    int chip, tall, gap;
    bool named;
  };
  struct Arrangement {
    std::vector<Box> chips;  ///< places within the box
    int width = 0, height = 0;
  };
  struct Spacing {
    int pad, title, gap, margin;
  };
  Size sizeFor(int chips) const;
  Size scaled(double scale) const;
  void layOut(const std::vector<std::vector<int>>& members, const Size& size);
  void place(const std::vector<int>& members, const Arrangement& inside, const Box& frame, bool turned);
  Spacing spacing() const;
  Arrangement arrange(const std::vector<int>& members, const Size& size) const;
  Arrangement ring(std::size_t count, const Size& size) const;
  Arrangement ladder(const std::vector<int>& members, const Size& size) const;
  int commonDistance(const std::vector<int>& members) const;
  static Arrangement interleaved(std::size_t count, int rows, const Size& size);
  Arrangement grid(std::size_t count, const Size& size) const;
  bool isComplete(const std::vector<int>& members) const;
  void centre();
  bool findRails() const;
  bool crossesChips(const Line& line, const TopologyLink& link) const;
  std::vector<Line> linesOf(const TopologyLink& link) const;
  std::vector<Line> aroundBoxes(const TopologyLink& link) const;
  void drawFrames(const TextMeasure& measure, Shapes& shapes) const;
  void drawChip(int chip, const TextMeasure& measure, Shapes& shapes) const;
  const Box& frameOf(int chip) const;
  bool linked() const { return chipCount() <= kMostLinked; }

  std::vector<TopologyChip> chips_;
  std::vector<TopologyLink> links_;
  std::vector<std::vector<int>> linksOf_;       ///< links of each chip
  std::vector<std::vector<int>> membersOf_;     ///< chips of each box
  std::vector<Box> places_, frames_, domains_;  ///< of chips, of boxes, and of domains
  std::vector<int> frameOf_, firstOf_;          ///< box of each chip, first chip of each box
  TopologyParts parts_;
  int width_ = 0, height_ = 0;
  int shift_ = 0;  ///< pixels by which the picture was moved to the middle
  bool named_ = true, rails_ = false;
};

}  // namespace pipescope::geometry
