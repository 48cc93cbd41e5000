#pragma once
// A laid-out graph as shapes at any zoom: boxes with names, arcs, and regions behind the boxes of a stage.
#include <set>
#include <string>
#include <vector>

#include "profiler/geometry/graph_layout.h"

namespace pipescope::geometry {

struct SceneBox {
  std::string title, detail;
  ColourRole role = ColourRole::series;
  int region = -1;     ///< the stage, whose boxes get a common ground; −1: none
  bool faint = false;  ///< drawn as an outline
};
struct SceneArc {
  std::size_t from = 0, to = 0;
  std::string label;
  bool strong = false;             ///< it stands out
  std::string shortLabel = {};     ///< label where the room is short; empty: there is none
  std::string shortestLabel = {};  ///< label where even that has no room; empty: there is none
};

/// Place of the scene on the canvas.
struct GraphPlace {
  double scale = 1, x = 0, y = 0;  ///< pixels for each unit of the layout, and the place of its origin
};

class GraphScene {
 public:
  static constexpr int kBoxWidth = 190, kBoxHeight = 46;

  /// A box with more arcs than this over several rows, on one side, has its arcs written beside the boxes at
  /// the other ends instead of drawn: a mask that the first layer makes for all others would cover the graph.
  static constexpr int kMostFarArcs = 4;

  GraphScene() = default;
  GraphScene(std::vector<SceneBox> boxes, std::vector<SceneArc> arcs);

  /// Draws what lies on a canvas of this size. The cost depends on what can be seen.
  Shapes draw(const GraphPlace& place, int width, int height, const TextMeasure& measure, int marked) const;
  int hit(const GraphPlace& place, int x, int y) const;  ///< −1: none
  Box boxOf(const GraphPlace& place, int box) const;
  /// The place in which everything can be seen. A small graph is drawn larger, at most so many times.
  static constexpr double kMostEnlarged = 2.5;
  GraphPlace whole(int width, int height) const;
  const GraphLayout& layout() const { return layout_; }
  /// True if an arc is written beside a box instead of drawn. It is a line while one of its boxes is marked.
  bool isNote(std::size_t arc) const { return noted_[arc]; }
  std::size_t size() const { return boxes_.size(); }

 private:
  static constexpr double kUsualAspect = 2.4;  ///< aspect of a canvas: tall graphs are folded for it

  /// The names at the other ends of the arcs that are written beside a box.
  struct Notes {
    std::string in, out;
    bool isInCut = false, isOutCut = false;
  };

  std::set<std::string> shortenedGroups(const GraphPlace& place, const TextMeasure& measure) const;
  Box withNotes(std::size_t i) const;  ///< a box of the layout with the room of its notes
  void findNotes(const GraphLayout& layout);
  void drawNotes(const GraphPlace& place, const Box& canvas, const TextMeasure& measure, int marked,
                 Shapes& shapes) const;

  /// The grounds of a region. There are several if boxes of other regions lie between its own.
  std::vector<Box> groundsOf(int region) const;
  Box regionLabelPlace(const GraphPlace& place, const Box& ground, int width, int height,
                       const Shapes& shapes) const;
  void drawNamesBeside(const GraphPlace& place, const TextMeasure& measure, Shapes& shapes) const;
  void drawRegions(const GraphPlace& place, const TextMeasure& measure, Shapes& shapes) const;
  void drawArcs(const GraphPlace& place, const Box& canvas, Shapes& shapes) const;
  void drawArcLabels(const GraphPlace& place, const Box& canvas, const TextMeasure& measure,
                     Shapes& shapes) const;
  /// Places for the label of an arc, best first: beside the middle of each of its lines, longest line first.
  std::vector<Box> labelPlaces(const GraphPlace& place, std::size_t arc, int width) const;

  std::vector<SceneBox> boxes_;
  std::vector<SceneArc> arcs_;
  std::vector<bool> noted_;   ///< arcs that are written beside boxes
  std::vector<Notes> notes_;  ///< one for each box; empty if no arc is written
  GraphLayout layout_;
  std::vector<std::pair<int, Box>> grounds_;  ///< grounds of the regions, if there are several
};

}  // namespace pipescope::geometry
