#include "profiler/geometry/graph_fold.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

namespace pipescope::geometry {
namespace {

constexpr int kFoldFrom = 900, kMostFolds = 16, kColumnGap = 240, kTurn = 54, kTurnStep = 7, kTurnLanes = 6;
constexpr int kNearEnd = 4;  // an arc may end this much above its box

class GraphFolding {
 public:
  GraphFolding(GraphLayout layout, const std::vector<int>& regions)
      : layout_(std::move(layout)), regions_(regions) {}

  GraphLayout run(int columns) {
    findBreaks(columns);
    if (starts_.size() < 2) return std::move(layout_);
    findExtents();
    for (Box& box : layout_.boxes) {
      const std::size_t column = columnOf(box.y);
      box.x += shiftOf(column);
      box.y += kTurn - starts_[column];
    }
    for (auto& points : layout_.arcs) foldArc(points);
    layout_.width = x_.back() + wide_.back();
    layout_.height = tallest_ + 2 * kTurn;
    return std::move(layout_);
  }

 private:
  /// Each row of boxes may begin a column. A row that begins a region wins over the other rows near the
  /// wanted height.
  void findBreaks(int columns) {
    std::map<int, std::set<int>> rows;  // the regions of a row, by the top of its boxes
    for (std::size_t i = 0; i < layout_.boxes.size(); ++i)
      rows[layout_.boxes[i].y].insert(i < regions_.size() ? regions_[i] : -1);
    const double wanted = static_cast<double>(layout_.height) / columns;
    starts_ = {rows.empty() ? 0 : rows.begin()->first};
    while (static_cast<int>(starts_.size()) < columns) {
      const double goal = starts_.back() + wanted;
      double best = std::numeric_limits<double>::max();
      int chosen = -1;
      for (auto row = rows.begin(); row != rows.end(); ++row) {
        if (row->first <= starts_.back()) continue;
        const bool begins = row->second != std::prev(row)->second;
        const double cost = std::abs(row->first - goal) + (begins ? 0 : wanted / 2);
        if (cost >= best) continue;
        best = cost;
        chosen = row->first;
      }
      if (chosen < 0) return;
      starts_.push_back(chosen);
    }
  }

  std::size_t columnOf(int y) const {
    const auto after = std::upper_bound(starts_.begin(), starts_.end(), y);
    return after == starts_.begin() ? 0 : static_cast<std::size_t>(after - starts_.begin()) - 1;
  }

  using Points = std::vector<std::pair<int, int>>;

  std::size_t columnOfPoint(const Points& points, std::size_t index) const {
    return columnOf(points[index].second + (index == 0 ? 0 : kNearEnd));
  }

  void findExtents() {
    std::vector<int> least(starts_.size(), std::numeric_limits<int>::max()),
        most(starts_.size(), std::numeric_limits<int>::min());
    const auto take = [&](int y, int left, int right) {
      const std::size_t column = columnOf(y);
      least[column] = std::min(least[column], left);
      most[column] = std::max(most[column], right);
    };
    for (const Box& box : layout_.boxes) {
      take(box.y, box.x, box.right());
      tallest_ = std::max(tallest_, box.bottom() - starts_[columnOf(box.y)]);
    }
    for (const auto& points : layout_.arcs) {
      for (std::size_t i = 0; i < points.size(); ++i) {
        const std::size_t column = columnOfPoint(points, i);
        least[column] = std::min(least[column], points[i].first);
        most[column] = std::max(most[column], points[i].first);
      }
    }
    int x = 0;
    for (std::size_t column = 0; column < starts_.size(); ++column) {
      least_.push_back(least[column]);
      wide_.push_back(most[column] - least[column]);
      x_.push_back(x);
      x += wide_.back() + kColumnGap;
    }
  }

  int shiftOf(std::size_t column) const { return x_[column] - least_[column]; }

  /// An arc into another column leaves below its own, goes up in the gap, and enters from above.
  void foldArc(Points& points) {
    Points folded;
    for (std::size_t i = 0; i < points.size(); ++i) {
      const std::size_t column = columnOfPoint(points, i);
      const std::pair<int, int> now(points[i].first + shiftOf(column),
                                    points[i].second + kTurn - starts_[column]);
      const std::size_t before = i == 0 ? column : columnOfPoint(points, i - 1);
      if (before != column) {
        const int lane = turns_++ % kTurnLanes * kTurnStep;
        const int across = x_[before] + wide_[before] + kColumnGap / 2 - kTurnLanes * kTurnStep / 2 + lane,
                  below = folded.back().second + kTurn / 3 + lane / 3, above = kTurn / 3 + lane / 3;
        folded.insert(folded.end(),
                      {{folded.back().first, below}, {across, below}, {across, above}, {now.first, above}});
      }
      folded.push_back(now);
    }
    points = std::move(folded);
  }

  GraphLayout layout_;
  const std::vector<int>& regions_;
  std::vector<int> starts_, least_, wide_, x_;  // first row, left side, width, new place of each column
  int tallest_ = 0, turns_ = 0;
};

}  // namespace

GraphLayout foldTallGraph(GraphLayout layout, const std::vector<int>& regions, double aspect) {
  if (layout.height < kFoldFrom || layout.width <= 0 || !(aspect > 0)) return layout;
  // The widths of the columns are known only when the graph is folded: a single wide row is in one of them.
  const auto height = [&](const GraphLayout& folded) {
    return std::max(static_cast<double>(folded.height), folded.width / aspect);
  };
  GraphLayout best = layout;
  for (int columns = 2; columns <= kMostFolds; ++columns) {
    GraphLayout folded = GraphFolding(layout, regions).run(columns);
    if (height(folded) < height(best)) best = std::move(folded);
  }
  return best;
}

}  // namespace pipescope::geometry
