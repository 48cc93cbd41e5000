#pragma once
// A laid-out graph as shapes at any zoom: boxes with names, arcs, and regions behind the boxes of a stage.
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
  bool strong = false;          ///< it stands out
  std::string shortLabel = {};  ///< label if the room is short; empty: there is none
};

/// Place of the scene on the canvas.
struct GraphPlace {
  double scale = 1, x = 0, y = 0;  ///< pixels for each unit of the layout, and the place of its origin
};

class GraphScene {
 public:
  static constexpr int kBoxWidth = 190, kBoxHeight = 40;

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
  std::size_t size() const { return boxes_.size(); }

 private:
  static constexpr double kUsualAspect = 3;  ///< aspect of a canvas: tall graphs are folded for it

  /// The grounds of a region. There are several if boxes of other regions lie between its own.
  std::vector<Box> groundsOf(int region) const;
  Box regionLabelPlace(const GraphPlace& place, const Box& ground, int width, int height,
                       const Shapes& shapes) const;
  void drawRegions(const GraphPlace& place, const TextMeasure& measure, Shapes& shapes) const;
  void drawArcs(const GraphPlace& place, const Box& canvas, Shapes& shapes) const;
  void drawArcLabels(const GraphPlace& place, const Box& canvas, const TextMeasure& measure,
                     Shapes& shapes) const;
  /// Places for the label of an arc, best first: beside the middle of each of its lines, longest line first.
  std::vector<Box> labelPlaces(const GraphPlace& place, std::size_t arc, int width) const;

  std::vector<SceneBox> boxes_;
  std::vector<SceneArc> arcs_;
  GraphLayout layout_;
};

}  // namespace pipescope::geometry
