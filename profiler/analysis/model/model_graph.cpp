#include "profiler/analysis/model/model_graph.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "profiler/analysis/block_walk.h"
#include "profiler/analysis/model/operations.h"

namespace pipescope::analysis {
namespace {

/// The length of the beginning that two paths have in common, in whole parts with the slashes behind them.
std::size_t commonLength(const std::string& one, const std::string& other) {
  std::size_t length = 0;
  for (std::size_t i = 0; i < one.size() && i < other.size() && one[i] == other[i]; ++i)
    if (one[i] == '/') length = i + 1;
  return length;
}

/// The path of an operator in the drawing: its block first, unless its name begins with it. The operator
/// encoder/layer2/output of the block encoder/layer2/stage1 is encoder/layer2/stage1/output.
std::string drawnPath(const ModelNode& node) {
  if (node.block.empty() || node.name == node.block || node.name.starts_with(node.block + "/"))
    return node.name;
  return node.block + "/" + node.name.substr(commonLength(node.block, node.name));
}

bool isWithin(const std::string& path, const std::string& group) {
  return group.empty() ||
         (path.size() > group.size() && path.starts_with(group) && path[group.size()] == '/');
}

/// A path without its last part.
std::string groupAbove(const std::string& path) {
  const std::size_t last = path.rfind('/');
  return last == std::string::npos ? std::string() : path.substr(0, last);
}

/// The part of a path that follows `open`: "encoder0" of "encoder0/attention/query" at the root.
std::string childOf(const std::string& path, const std::string& open) {
  const std::size_t from = open.empty() ? 0 : open.size() + 1;
  return path.substr(0, path.find('/', from));
}

class ViewMaker {
 public:
  ViewMaker(const ModelGraph& graph, std::string open, std::size_t most)
      : graph_(graph), open_(std::move(open)), most_(most) {}

  GraphView make() {
    std::vector<std::string> paths;
    for (const ModelNode& node : graph_.nodes) paths.push_back(drawnPath(node));
    boxOf_.assign(graph_.nodes.size(), kNone);
    openLargest(paths);
    for (std::size_t i = 0; i < paths.size(); ++i) {
      // An operator may have the name of the group itself.
      if (isInside(paths[i])) put(i, boxPath(paths[i]), paths[i], false);
    }
    addNeighbours(paths);
    addLinks();
    nameBoxes();
    return std::move(view_);
  }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  bool isInside(const std::string& path) const { return path == open_ || isWithin(path, open_); }

  /// The box that a path lies in: a child of the innermost opened group that contains it.
  std::string boxPath(const std::string& path) const {
    std::string child = childOf(path, open_);
    while (child != path && opened_.contains(child)) child = childOf(path, child);
    return child;
  }

  struct Candidate {
    std::size_t operators = 0;
    std::set<std::int32_t> stages;
    std::set<std::string> children;
  };

  /// Opens groups of several stages, where the cuts are, and those with more than half of the operators,
  /// because a single box for most of a model says nothing; the largest first, as long as there are few
  /// boxes.
  void openLargest(const std::vector<std::string>& paths) {
    constexpr std::size_t kMostOpened = 140;
    for (;;) {
      std::map<std::string, Candidate> boxes;
      std::size_t inside = 0;
      for (std::size_t i = 0; i < paths.size(); ++i) {
        if (!isInside(paths[i])) continue;
        const std::string box = boxPath(paths[i]);
        Candidate& own = boxes[box];
        ++inside;
        ++own.operators;
        own.stages.insert(graph_.nodes[i].stage);
        if (isWithin(paths[i], box)) own.children.insert(childOf(paths[i], box));
      }
      const std::string* largest = nullptr;
      std::size_t most = 0;
      for (const auto& [path, box] : boxes) {
        const bool wanted = box.stages.size() > 1 || box.operators * 2 > inside;
        if (!wanted || box.children.empty() || box.operators <= most || opened_.contains(path) ||
            boxes.size() + box.children.size() > kMostOpened)
          continue;
        largest = &path;
        most = box.operators;
      }
      if (largest == nullptr) return;
      opened_.insert(*largest);
    }
  }

  void put(std::size_t node, const std::string& child, const std::string& path, bool outside) {
    const auto known = index_.find(child);
    if (known == index_.end() && view_.boxes.size() >= most_) {
      ++view_.left;
      return;
    }
    const std::size_t place = index_.try_emplace(child, view_.boxes.size()).first->second;
    if (place == view_.boxes.size()) {
      GraphBox box;
      box.path = child;
      box.outside = outside;
      box.stage = graph_.nodes[node].stage;
      view_.boxes.push_back(std::move(box));
    }
    GraphBox& box = view_.boxes[place];
    const ModelNode& own = graph_.nodes[node];
    box.group = box.group || child.size() < path.size();
    if (own.stage != box.stage) box.stage = -1;
    box.nodes.push_back(node);
    box.ticks += own.ticks;
    box.flops += own.flops;
    box.memory += own.memory;
    boxOf_[node] = place;
  }

  /// Adds the groups that the open group exchanges tensors with, each as the box that the nearest common
  /// group would show.
  void addNeighbours(const std::vector<std::string>& paths) {
    if (open_.empty()) return;
    const std::size_t inside = view_.boxes.size();
    for (const ModelEdge& edge : graph_.edges) {
      const bool from = boxOf_[edge.from] < inside, to = boxOf_[edge.to] < inside;
      if (from == to) continue;
      const std::size_t other = from ? edge.to : edge.from;
      if (boxOf_[other] == kNone) put(other, neighbourPath(paths[other]), paths[other], true);
    }
    // The figures of a neighbour are those of the whole group that it is named after.
    for (std::size_t i = 0; i < paths.size(); ++i) {
      if (boxOf_[i] != kNone) continue;
      const std::string neighbour = neighbourPath(paths[i]);
      if (index_.contains(neighbour)) put(i, neighbour, paths[i], true);
    }
  }

  std::string neighbourPath(const std::string& path) const {
    std::string common = open_;
    while (!common.empty() && !isWithin(path, common)) common = groupAbove(common);
    return childOf(path, common);
  }

  void addLinks() {
    std::map<std::pair<std::size_t, std::size_t>, std::size_t> known;
    std::set<std::tuple<std::size_t, std::size_t, std::size_t, std::string>> sent;
    for (const ModelEdge& edge : graph_.edges) {
      const std::size_t from = boxOf_[edge.from], to = boxOf_[edge.to];
      if (from == kNone || to == kNone || from == to) continue;
      if (view_.boxes[from].outside && view_.boxes[to].outside) continue;
      // A tensor may have several readers in a box, but it is sent once.
      if (!sent.emplace(from, to, edge.from, edge.tensor).second) continue;
      const auto [place, isNew] = known.try_emplace({from, to}, view_.links.size());
      if (isNew) {
        GraphLink link;
        link.from = from;
        link.to = to;
        view_.links.push_back(link);
      }
      GraphLink& link = view_.links[place->second];
      ++link.tensors;
      link.bytes += edge.bytes;
      link.ticks += edge.ticks;
      link.cut = link.cut || graph_.nodes[edge.from].stage != graph_.nodes[edge.to].stage;
      link.label = link.tensors == 1 ? edge.shape : std::to_string(link.tensors) + " tensors";
    }
  }

  /// Names the boxes. A box that holds a single operator has the operator's name.
  void nameBoxes() {
    for (GraphBox& box : view_.boxes) {
      if (box.nodes.size() == 1) {
        box.path = drawnPath(graph_.nodes[box.nodes[0]]);
        box.group = false;
      }
      box.name = box.outside || !isWithin(box.path, open_)
                     ? box.path
                     : box.path.substr(open_.empty() ? 0 : open_.size() + 1);
      box.kind = box.nodes.size() > 1 ? std::to_string(box.nodes.size()) + " operators"
                                      : graph_.nodes[box.nodes[0]].kind;
    }
  }

  const ModelGraph& graph_;
  std::string open_;
  std::set<std::string> opened_;  ///< groups below it whose content is shown instead of them
  std::size_t most_;
  GraphView view_;
  std::map<std::string, std::size_t> index_;
  std::vector<std::size_t> boxOf_;
};

class GraphReader {
 public:
  GraphReader(const model::ProfileSource& source, const Catalog& catalog, model::ExecutableId executable)
      : source_(source), catalog_(catalog), executable_(executable) {}

  Result<ModelGraph> read() {
    PIPESCOPE_ASSIGN(const Operations costs, operations(source_, catalog_, executable_));
    std::unordered_map<std::string, const Operation*> byName;
    for (const Operation& row : costs.operations) byName.emplace(row.name, &row);
    PIPESCOPE_TRY(forAllRows<model::Operator>(source_, [&](const model::Operator& row) {
      const bool input = row.pass == model::Pass::hostIn;
      // A stash keeps a tensor for the backward pass; it is no operator of the model.
      if (row.executable != executable_ || row.kind == "Stash" ||
          !(input || row.pass == model::Pass::forward))
        return;
      ModelNode node{catalog_.namePath(row.debugContext), row.kind, row.block, row.stage, {}, row.flops, {}};
      if (const auto cost = byName.find(node.name); cost != byName.end()) {
        node.ticks = cost->second->cost.total();
        node.flops = cost->second->cost.flops;
        node.memory = cost->second->cost.weights + cost->second->cost.code;
      }
      indices_.emplace(row.id, addNode(std::move(node)));
    }));
    for (ModelNode& node : graph_.nodes) node.stage = stageOf(node.stage);
    std::map<std::tuple<std::int32_t, std::int32_t, std::string>, Ticks> copies;
    for (const model::Boundary& row : catalog_.boundaries) {
      if (row.executable == executable_) copies[{row.fromStage, row.toStage, row.tensor}] = row.ticks;
    }
    PIPESCOPE_TRY(forAllRows<model::Edge>(source_, [&](const model::Edge& row) {
      if (row.executable != executable_) return;
      graph_.edgesKnown = true;
      const auto from = indices_.find(row.from), to = indices_.find(row.to);
      if (from == indices_.end() || to == indices_.end()) return;
      ModelEdge edge{from->second, to->second, catalog_.namePath(row.tensor), row.shape, row.bytes, {}};
      const auto copy =
          copies.find({graph_.nodes[edge.from].stage, graph_.nodes[edge.to].stage, edge.tensor});
      if (copy != copies.end()) edge.ticks = copy->second;
      if (graph_.mirrors.empty() || known_.emplace(edge.from, edge.to, edge.tensor).second)
        graph_.edges.push_back(std::move(edge));
    }));
    return std::move(graph_);
  }

 private:
  /// Adds a node, unless another stage holds the same operator. Returns its index. A pipeline that runs from
  /// both ends (DualPipe) compiles each part of the model for two stages.
  std::size_t addNode(ModelNode node) {
    const auto [known, isNew] = byPath_.try_emplace({node.name, node.kind}, graph_.nodes.size());
    const std::int32_t first = graph_.nodes.empty() || isNew ? node.stage : graph_.nodes[known->second].stage;
    if (first != node.stage) {
      graph_.mirrors.emplace(std::max(first, node.stage), std::min(first, node.stage));
      return known->second;
    }
    graph_.nodes.push_back(std::move(node));
    return graph_.nodes.size() - 1;
  }

  std::int32_t stageOf(std::int32_t stage) const {
    const auto mirrored = graph_.mirrors.find(stage);
    return mirrored == graph_.mirrors.end() ? stage : mirrored->second;
  }

  const model::ProfileSource& source_;
  const Catalog& catalog_;
  model::ExecutableId executable_;
  ModelGraph graph_;
  std::map<std::pair<std::string, std::string>, std::size_t> byPath_;  ///< by name and kind
  std::set<std::tuple<std::size_t, std::size_t, std::string>> known_;  ///< edges that are in the graph
  std::unordered_map<model::OperatorId, std::size_t> indices_;
};

}  // namespace

Result<ModelGraph> modelGraph(const model::ProfileSource& source, const Catalog& catalog,
                              model::ExecutableId executable) {
  return GraphReader(source, catalog, executable).read();
}

GraphView graphView(const ModelGraph& graph, const std::string& open, std::size_t most) {
  return ViewMaker(graph, open, most).make();
}

std::string groupOf(const ModelNode& node) {
  return groupAbove(drawnPath(node));
}

}  // namespace pipescope::analysis
