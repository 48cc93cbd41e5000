#include "profiler/analysis/host/host_statistics.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <utility>

namespace pipescope::analysis {
namespace {

bool overlaps(const HostItem& item, const std::optional<HostRange>& range) {
  return !range || (item.start < range->end && item.end > range->start);
}

/// The value that a share of the sorted lengths does not exceed.
Ticks percentile(const std::vector<Ticks>& sorted, double share) {
  const auto place = static_cast<std::size_t>(std::ceil(share * static_cast<double>(sorted.size())));
  return sorted[std::clamp<std::size_t>(place, 1, sorted.size()) - 1];
}

/// A node of the tree while it is built.
struct GrowingNode {
  HostTreeNode node;
  std::vector<std::int32_t> children;
};

void addBranch(const std::vector<GrowingNode>& nodes, std::int32_t at, std::int32_t parent,
               std::vector<HostTreeNode>& tree) {
  // Spans of a hostile file may nest thousands of levels deep, so this is no recursion.
  std::vector<std::pair<std::int32_t, std::int32_t>> left{{at, parent}};
  while (!left.empty()) {
    const auto [now, above] = left.back();
    left.pop_back();
    const GrowingNode& growing = nodes[static_cast<std::size_t>(now)];
    const auto place = static_cast<std::int32_t>(tree.size());
    tree.push_back(growing.node);
    tree.back().parent = above;
    tree.back().depth = above < 0 ? 0 : tree[static_cast<std::size_t>(above)].depth + 1;
    std::vector<std::int32_t> children = growing.children;
    std::ranges::stable_sort(children, [&](std::int32_t a, std::int32_t b) {
      return nodes[static_cast<std::size_t>(a)].node.total > nodes[static_cast<std::size_t>(b)].node.total;
    });
    for (std::size_t i = children.size(); i-- > 0;) left.emplace_back(children[i], place);
  }
}

}  // namespace

std::size_t HostHistogram::binOf(Ticks length) {
  std::size_t bin = 0;
  while (bin + 1 < kBins && lowerEdge(bin + 1) <= length) ++bin;
  return bin;
}

Ticks HostHistogram::lowerEdge(std::size_t bin) {
  std::int64_t edge = bin % 3 == 0 ? 1 : bin % 3 == 1 ? 2 : 5;
  for (std::size_t decade = 0; decade < bin / 3; ++decade) edge *= 10;
  return Ticks(edge);
}

std::vector<HostNameUse> hostNameUses(const HostTimeline& timeline, std::optional<HostRange> range) {
  std::vector<HostNameUse> uses(timeline.names.size());
  std::vector<std::vector<Ticks>> lengths(timeline.names.size());
  std::vector<std::size_t> lastLane(timeline.names.size(), timeline.lanes.size());
  for (std::size_t lane = 0; lane < timeline.lanes.size(); ++lane) {
    for (const HostItem& item : timeline.lanes[lane].spans) {
      if (!overlaps(item, range)) continue;
      const auto name = static_cast<std::size_t>(item.name);
      HostNameUse& use = uses[name];
      use.total = use.total + item.length();
      use.self = use.self + item.self;
      if (lastLane[name] != lane) ++use.threads, lastLane[name] = lane;
      ++use.histogram.counts[HostHistogram::binOf(item.length())];
      lengths[name].push_back(item.length());
    }
  }
  for (std::size_t name = 0; name < uses.size(); ++name) {
    HostNameUse& use = uses[name];
    use.name = static_cast<std::int32_t>(name);
    use.count = static_cast<std::int64_t>(lengths[name].size());
    if (use.count == 0) continue;
    std::ranges::sort(lengths[name]);
    use.shortest = lengths[name].front();
    use.longest = lengths[name].back();
    use.median = percentile(lengths[name], 0.5);
    use.p90 = percentile(lengths[name], 0.9);
    use.p99 = percentile(lengths[name], 0.99);
  }
  std::erase_if(uses, [](const HostNameUse& use) { return use.count == 0; });
  std::ranges::stable_sort(uses, std::greater<>(), [](const HostNameUse& use) { return use.self; });
  return uses;
}

std::vector<HostTreeNode> hostCallTree(const HostTimeline& timeline, std::optional<HostRange> range) {
  std::vector<HostTreeNode> tree;
  for (std::size_t l = 0; l < timeline.lanes.size(); ++l) {
    const HostLane& lane = timeline.lanes[l];
    std::vector<GrowingNode> nodes(1);
    nodes[0].node.lane = static_cast<std::int32_t>(l);
    std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> places;  // keyed by parent node and name
    std::vector<std::int32_t> nodeOf(lane.spans.size(), 0);
    for (std::size_t i = 0; i < lane.spans.size(); ++i) {
      const HostItem& item = lane.spans[i];
      if (!overlaps(item, range)) continue;
      // A parent overlaps the range, too, because it is around the span.
      const std::int32_t above = item.parent < 0 ? 0 : nodeOf[static_cast<std::size_t>(item.parent)];
      const auto [place, isNew] =
          places.try_emplace({above, item.name}, static_cast<std::int32_t>(nodes.size()));
      if (isNew) {
        nodes[static_cast<std::size_t>(above)].children.push_back(place->second);
        nodes.emplace_back();
        nodes.back().node.lane = static_cast<std::int32_t>(l);
        nodes.back().node.name = item.name;
      }
      nodeOf[i] = place->second;
      HostTreeNode& node = nodes[static_cast<std::size_t>(place->second)].node;
      ++node.count;
      node.total = node.total + item.length();
      node.self = node.self + item.self;
      HostTreeNode& thread = nodes[0].node;
      if (item.parent < 0) ++thread.count, thread.total = thread.total + item.length();
    }
    if (nodes.size() > 1) addBranch(nodes, 0, -1, tree);
  }
  return tree;
}

}  // namespace pipescope::analysis
