#include "profiler/geometry/graph_layout.h"

#include <algorithm>
#include <numeric>

namespace pipescope::geometry {
namespace {

constexpr int kGraphGap = 40, kRankGap = 56, kBendWidth = 8, kSweeps = 6;
constexpr std::size_t kMostBends = 40'000;

class GraphLayering {
 public:
  GraphLayering(const std::vector<GraphSize>& nodes, const std::vector<GraphArc>& arcs)
      : sizes_(nodes), arcs_(arcs), real_(nodes.size()) {}

  GraphLayout run() {
    findRanks();
    addBends();
    fillRows();
    order();
    place();
    return finish();
  }

 private:
  struct Link {
    std::size_t from, to;
  };

  /// Finds ranks by longest path. Nodes on a circle get their rank from the arcs that are left when the arc
  /// that closes the circle is reversed.
  void findRanks() {
    reversed_.assign(arcs_.size(), false);
    std::vector<std::vector<std::size_t>> out(real_);
    for (std::size_t a = 0; a < arcs_.size(); ++a) out[arcs_[a].from].push_back(a);
    std::vector<char> state(real_, 0);  // 0 new, 1 open, 2 done
    std::vector<std::size_t> finished;
    for (std::size_t start = 0; start < real_; ++start) {
      if (state[start] != 0) continue;
      std::vector<std::pair<std::size_t, std::size_t>> stack = {{start, 0}};
      state[start] = 1;
      while (!stack.empty()) {
        auto& [node, next] = stack.back();
        if (next == out[node].size()) {
          state[node] = 2;
          finished.push_back(node);
          stack.pop_back();
          continue;
        }
        const std::size_t arc = out[node][next++], to = arcs_[arc].to;
        if (state[to] == 1) reversed_[arc] = true;
        if (state[to] == 0) {
          state[to] = 1;
          stack.emplace_back(to, 0);
        }
      }
    }
    rank_.assign(real_, 0);
    std::vector<std::vector<std::size_t>> below(real_);
    for (std::size_t a = 0; a < arcs_.size(); ++a) {
      if (arcs_[a].from != arcs_[a].to) below[reversed_[a] ? arcs_[a].to : arcs_[a].from].push_back(a);
    }
    for (auto node = finished.rbegin(); node != finished.rend(); ++node) {
      for (const std::size_t a : below[*node]) {
        const std::size_t to = reversed_[a] ? arcs_[a].from : arcs_[a].to;
        rank_[to] = std::max(rank_[to], rank_[*node] + 1);
      }
    }
    lowerSources(finished, below);
  }

  /// Lowers each node that has no more arcs from above than to below to the row above its uppermost
  /// successor. The arcs become no longer in sum, and an input of a late layer, such as the labels of a loss,
  /// is drawn beside that layer instead of in the first row with an arc along the whole graph. `finished`
  /// holds each node after its successors.
  void lowerSources(const std::vector<std::size_t>& finished,
                    const std::vector<std::vector<std::size_t>>& below) {
    std::vector<std::size_t> above(real_, 0);
    for (const auto& arcs : below) {
      for (const std::size_t a : arcs) ++above[reversed_[a] ? arcs_[a].from : arcs_[a].to];
    }
    for (const std::size_t node : finished) {
      if (below[node].empty() || above[node] > below[node].size()) continue;
      int first = rank_[node] + static_cast<int>(real_);
      for (const std::size_t a : below[node])
        first = std::min(first, rank_[reversed_[a] ? arcs_[a].from : arcs_[a].to]);
      rank_[node] = std::max(rank_[node], first - 1);
    }
  }

  /// An arc over several ranks bends in each of them, so that it has a way between the boxes.
  void addBends() {
    paths_.resize(arcs_.size());
    for (std::size_t a = 0; a < arcs_.size(); ++a) {
      if (arcs_[a].from == arcs_[a].to) continue;
      const std::size_t from = reversed_[a] ? arcs_[a].to : arcs_[a].from,
                        to = reversed_[a] ? arcs_[a].from : arcs_[a].to;
      paths_[a].push_back(from);
      for (int rank = rank_[from] + 1; rank < rank_[to] && sizes_.size() < kMostBends; ++rank) {
        paths_[a].push_back(sizes_.size());
        sizes_.push_back({kBendWidth, 0});
        rank_.push_back(rank);
      }
      paths_[a].push_back(to);
      for (std::size_t i = 0; i + 1 < paths_[a].size(); ++i)
        links_.push_back({paths_[a][i], paths_[a][i + 1]});
    }
  }

  void fillRows() {
    const int last = rank_.empty() ? 0 : *std::max_element(rank_.begin(), rank_.end());
    rows_.assign(static_cast<std::size_t>(last) + 1, {});
    above_.resize(sizes_.size());
    below_.resize(sizes_.size());
    for (std::size_t i = 0; i < sizes_.size(); ++i) rows_[static_cast<std::size_t>(rank_[i])].push_back(i);
    for (const Link& link : links_) {
      below_[link.from].push_back(link.to);
      above_[link.to].push_back(link.from);
    }
    position_.assign(sizes_.size(), 0);
    for (const auto& row : rows_) number(row);
  }

  void number(const std::vector<std::size_t>& row) {
    for (std::size_t i = 0; i < row.size(); ++i) position_[row[i]] = static_cast<double>(i);
  }

  double barycentre(std::size_t node, const std::vector<std::vector<std::size_t>>& neighbours) const {
    const auto& list = neighbours[node];
    if (list.empty()) return position_[node];
    double sum = 0;
    for (const std::size_t other : list) sum += position_[other];
    return sum / static_cast<double>(list.size());
  }

  void order() {
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
      const bool down = sweep % 2 == 0;
      for (std::size_t r = 0; r < rows_.size(); ++r) {
        std::vector<std::size_t>& row = rows_[down ? r : rows_.size() - 1 - r];
        std::vector<std::pair<double, std::size_t>> keyed;
        for (const std::size_t node : row) keyed.emplace_back(barycentre(node, down ? above_ : below_), node);
        std::stable_sort(keyed.begin(), keyed.end(),
                         [](const auto& a, const auto& b) { return a.first < b.first; });
        for (std::size_t i = 0; i < row.size(); ++i) row[i] = keyed[i].second;
        number(row);
      }
    }
  }

  /// Moves each node towards the middle of its neighbours, as far as the order and the gaps allow.
  void place() {
    centre_.assign(sizes_.size(), 0);
    for (const auto& row : rows_) {
      double x = 0;
      for (const std::size_t node : row) {
        centre_[node] = x + sizes_[node].width / 2.0;
        x += sizes_[node].width + kGraphGap;
      }
      const double shift = (x - kGraphGap) / 2;
      for (const std::size_t node : row) centre_[node] -= shift;
    }
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
      const bool down = sweep % 2 == 0;
      for (std::size_t r = 0; r < rows_.size(); ++r)
        align(rows_[down ? r : rows_.size() - 1 - r], down ? above_ : below_);
    }
  }

  double wanted(std::size_t node, const std::vector<std::vector<std::size_t>>& neighbours) const {
    const auto& list = neighbours[node];
    if (list.empty()) return centre_[node];
    double sum = 0;
    for (const std::size_t other : list) sum += centre_[other];
    return sum / static_cast<double>(list.size());
  }

  /// Two passes, from the left and from the right, give the least and the largest place of each node; the
  /// middle of both keeps all gaps.
  void align(const std::vector<std::size_t>& row, const std::vector<std::vector<std::size_t>>& neighbours) {
    const std::size_t n = row.size();
    std::vector<double> left(n), right(n);
    const auto apart = [&](std::size_t i) {
      return (sizes_[row[i]].width + sizes_[row[i + 1]].width) / 2.0 + kGraphGap;
    };
    for (std::size_t i = 0; i < n; ++i) {
      const double want = wanted(row[i], neighbours);
      left[i] = i == 0 ? want : std::max(want, left[i - 1] + apart(i - 1));
    }
    for (std::size_t i = n; i-- > 0;) {
      const double want = wanted(row[i], neighbours);
      right[i] = i + 1 == n ? want : std::min(want, right[i + 1] - apart(i));
    }
    for (std::size_t i = 0; i < n; ++i) centre_[row[i]] = (left[i] + right[i]) / 2;
  }

  GraphLayout finish() {
    GraphLayout layout;
    double least = 0, most = 0;
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      least =
          i == 0 ? centre_[i] - sizes_[i].width / 2.0 : std::min(least, centre_[i] - sizes_[i].width / 2.0);
      most = i == 0 ? centre_[i] + sizes_[i].width / 2.0 : std::max(most, centre_[i] + sizes_[i].width / 2.0);
    }
    std::vector<int> top(rows_.size(), 0), tall(rows_.size(), 0);
    int y = 0;
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      for (const std::size_t node : rows_[r]) tall[r] = std::max(tall[r], sizes_[node].height);
      top[r] = y;
      y += tall[r] + kRankGap;
    }
    const auto boxOf = [&](std::size_t node) {
      const auto r = static_cast<std::size_t>(rank_[node]);
      const int height = node < real_ ? sizes_[node].height : tall[r];
      return Box{static_cast<int>(centre_[node] - least - sizes_[node].width / 2.0),
                 top[r] + (tall[r] - height) / 2, sizes_[node].width, height};
    };
    for (std::size_t i = 0; i < real_; ++i) layout.boxes.push_back(boxOf(i));
    for (const std::vector<std::size_t>& path : paths_) {
      auto& points = layout.arcs.emplace_back();
      for (std::size_t i = 0; i < path.size(); ++i) {
        const Box box = boxOf(path[i]);
        const int x = box.x + box.width / 2;
        if (i > 0) points.emplace_back(x, box.y);
        if (i + 1 < path.size()) points.emplace_back(x, box.bottom());
      }
    }
    layout.width = static_cast<int>(most - least) + 1;
    layout.height = std::max(0, y - kRankGap);
    return layout;
  }

  std::vector<GraphSize> sizes_;  // sizes of the nodes, then of the bends
  const std::vector<GraphArc>& arcs_;
  std::size_t real_;
  std::vector<bool> reversed_;
  std::vector<int> rank_;
  std::vector<std::vector<std::size_t>> paths_, rows_, above_, below_;
  std::vector<Link> links_;
  std::vector<double> position_, centre_;
};

}  // namespace

GraphLayout layOutGraph(const std::vector<GraphSize>& nodes, const std::vector<GraphArc>& arcs) {
  if (nodes.empty()) return {};
  return GraphLayering(nodes, arcs).run();
}

}  // namespace pipescope::geometry
