#pragma once
// A group of the model's graph as a laid-out drawing.
#include <QString>
#include <memory>

#include "profiler/analysis/model/model_graph.h"
#include "profiler/geometry/graph_scene.h"
#include "profiler/sections/frame/section.h"

namespace pipescope::pages {

/// A group with more boxes shows the first of them and says how many operators are left out.
inline constexpr std::size_t kMostGraphBoxes = 8'000;

struct GraphData {
  analysis::ModelGraph graph;
  sections::ShownTime time;
};

/// Property that the colour of a box stands for.
enum class GraphColour { stage, time, memory, type };

/// One opened group, laid out.
struct OpenedGraph {
  QString path;
  analysis::GraphView view;
  std::shared_ptr<const geometry::GraphScene> scene;
};

/// Lays out a group. For workers.
OpenedGraph openGraph(const GraphData& data, const QString& path, GraphColour colour);
/// One of four colours, from little to much.
geometry::ColourRole shadeOf(double value, double most);

}  // namespace pipescope::pages
