#include "views/pages/parts/charts/graph_drawing.h"

#include <algorithm>

#include "profiler/sections/frame/section.h"

namespace pipescope::pages {
namespace {

using geometry::ColourRole;
using sections::Format;

std::string graphBytes(base::Bytes bytes) {
  return formatCell(bytes.count, Format::bytes);
}

/// Three digits: a box has little room.
std::string shortTime(base::Ticks ticks, const GraphData& data) {
  const auto all = static_cast<double>(ticks.count);
  return data.time.isCycles() ? formatCell(all, Format::amount) + " cycles" : timeText(all, data.time);
}

}  // namespace

ColourRole shadeOf(double value, double most) {
  constexpr ColourRole kShades[] = {ColourRole::free, ColourRole::computeGroup, ColourRole::lostFill,
                                    ColourRole::compute};
  if (!(most > 0) || !(value > 0)) return kShades[0];
  return kShades[static_cast<std::size_t>(std::clamp(static_cast<int>(value / most * 4), 0, 3))];
}

OpenedGraph openGraph(const GraphData& data, const QString& path, GraphColour colour) {
  OpenedGraph opened{path, analysis::graphView(data.graph, path.toStdString(), kMostGraphBoxes), nullptr};
  std::vector<geometry::SceneBox> boxes;
  std::vector<std::string> kinds;
  double mostTicks = 0, mostBytes = 0;
  for (const analysis::GraphBox& box : opened.view.boxes) {
    mostTicks = std::max(mostTicks, static_cast<double>(box.ticks.count));
    mostBytes = std::max(mostBytes, static_cast<double>(box.memory.count));
  }
  for (const analysis::GraphBox& box : opened.view.boxes) {
    const auto known = std::find(kinds.begin(), kinds.end(), box.kind);
    const int kind = static_cast<int>(known - kinds.begin());
    if (known == kinds.end()) kinds.push_back(box.kind);
    const ColourRole role =
        colour == GraphColour::stage    ? (box.stage < 0 ? ColourRole::gaps : geometry::seriesRole(box.stage))
        : colour == GraphColour::time   ? shadeOf(static_cast<double>(box.ticks.count), mostTicks)
        : colour == GraphColour::memory ? shadeOf(static_cast<double>(box.memory.count), mostBytes)
                                        : geometry::seriesRole(kind);
    // The time comes first, because a narrow box cuts off the end.
    const std::string time = shortTime(box.ticks, data);
    boxes.push_back({box.name, time + " · " + box.kind, role, box.outside ? -1 : box.stage, box.outside});
  }
  std::vector<geometry::SceneArc> arcs;
  for (const analysis::GraphLink& link : opened.view.links) {
    // The sizes alone say enough where the room is short, unless there is only one.
    const bool hasSizes = link.tensors == 1 && link.label.find('x') < link.label.find(' ');
    std::string label = link.label, amount = hasSizes ? label.substr(0, label.find(' ')) : label;
    std::string bytes;
    if (link.cut) {
      bytes = graphBytes(link.bytes);
      amount = link.ticks.count > 0 ? bytes + " · " + shortTime(link.ticks, data) : bytes;
      label += " · " + amount;
    }
    arcs.push_back({link.from, link.to, std::move(label), link.cut, std::move(amount), std::move(bytes)});
  }
  opened.scene = std::make_shared<const geometry::GraphScene>(std::move(boxes), std::move(arcs));
  return opened;
}

}  // namespace pipescope::pages
