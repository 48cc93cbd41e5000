#include "profiler/analysis/pipeline/recorded/engine_nodes.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "profiler/analysis/block_walk.h"
#include "profiler/base/intervals.h"

namespace pipescope::analysis {
namespace {

struct Activation {
  Ticks start, end;
  model::LaneId lane;
};

/// The text in brackets before an engine's name; empty: none.
std::string engineGroup(const std::string& lane) {
  if (!lane.starts_with('[')) return {};
  return lane.substr(1, lane.find(']') - 1);
}

/// Device, unit, name and operation of a node.
using NodeKey = std::tuple<model::DeviceId, model::LaneRole, std::string, std::string>;

EngineNode summed(const NodeKey& key, std::int32_t part, const Activation* first, const Activation* last) {
  EngineNode node;
  std::tie(node.device, node.unit, node.name, node.operation) = key;
  node.part = part;
  node.start = first->start;
  node.shortest = first->end - first->start;
  base::Intervals busy;
  std::set<model::LaneId> lanes;
  for (const Activation* a = first; a != last; ++a) {
    const Ticks length = a->end - a->start;
    node.end = std::max(node.end, a->end);
    node.shortest = std::min(node.shortest, length);
    node.longest = std::max(node.longest, length);
    node.sum += length;
    busy.add(a->start, a->end);
    lanes.insert(a->lane);
    ++node.activations;
  }
  node.active = busy.unionLength();
  node.engines = static_cast<std::int64_t>(lanes.size());
  return node;
}

void addParts(const NodeKey& key, std::vector<Activation>& all, std::size_t groups,
              std::vector<EngineNode>& nodes) {
  std::stable_sort(all.begin(), all.end(),
                   [](const Activation& a, const Activation& b) { return a.start < b.start; });
  std::int32_t part = 1;
  std::size_t first = 0;
  Ticks end(INT64_MIN);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool whole = groups > 1 && i > first && (i - first) % groups == 0;
    if (whole && all[i].start > end) {
      nodes.push_back(summed(key, part++, all.data() + first, all.data() + i));
      first = i;
    }
    end = std::max(end, all[i].end);
  }
  nodes.push_back(summed(key, part, all.data() + first, all.data() + all.size()));
}

}  // namespace

Result<std::vector<EngineNode>> engineNodes(const model::ProfileSource& source, const Catalog& catalog) {
  std::vector<EngineNode> nodes;
  std::map<model::DeviceId, std::set<std::string>> groups;
  bool any = false;
  for (const model::Lane& lane : catalog.lanes) {
    if (!model::isEngine(lane.role)) continue;
    any = true;
    groups[lane.device].insert(engineGroup(lane.name));
  }
  if (!any || !catalog.measured()) return nodes;
  std::map<model::SegmentId, Ticks> starts;
  PIPESCOPE_TRY(forAllRows<model::Placement>(
      source, [&](const model::Placement& placement) { starts[placement.segment] = placement.start; }));
  std::map<NodeKey, std::vector<Activation>> activations;
  PIPESCOPE_TRY(forAllRows<model::Step>(source, [&](const model::Step& step) {
    const model::Lane* lane = catalog.lanes.find(step.lane);
    const auto start = starts.find(step.segment);
    if (lane == nullptr || start == starts.end() || !model::isEngine(lane->role) || step.ticks.count <= 0)
      return;
    if (!catalog.programs.contains(step.program)) return;
    const model::Program program = catalog.programs[step.program];
    const Ticks from = start->second + step.offset;
    activations[{lane->device, lane->role, catalog.namePath(program.debugContext), program.kind}].push_back(
        {from, from + step.ticks, step.lane});
  }));
  for (auto& [key, all] : activations) addParts(key, all, groups[std::get<0>(key)].size(), nodes);
  std::stable_sort(nodes.begin(), nodes.end(),
                   [](const EngineNode& a, const EngineNode& b) { return a.start < b.start; });
  return nodes;
}

}  // namespace pipescope::analysis
