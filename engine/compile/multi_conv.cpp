#include "engine/compile/multi_conv.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "engine/compile/block_pattern.h"
#include "engine/compile/graph_rewriter.h"

namespace pipescope::compile {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::TensorId;

std::string_view withoutSlash(std::string_view name) {
  return name.substr(std::min(name.find_first_not_of('/'), name.size()));
}

std::string groupOf(const Node& node) {
  return graph::stringAttribute(node, kMultiConv, "");
}

/// The layers that all names lie in, with a slash at the end: "octave/" of "octave/high" and "octave/low".
std::string commonLayer(const std::vector<std::string>& names) {
  std::string common = names.front();
  for (const std::string& name : names) {
    const auto [end, other] = std::ranges::mismatch(common, name);
    common.resize(static_cast<std::size_t>(end - common.begin()));
  }
  const std::size_t slash = common.rfind('/');
  return slash == std::string::npos ? "" : common.substr(0, slash + 1);
}

/// Finds the group of each convolution.
class GroupFinder {
 public:
  GroupFinder(const Graph& forward, const std::vector<MultiConvGroup>& groups)
      : forward_(forward), groups_(groups) {}

  /// Returns the name of each convolution's group: the path of the layer that the group lies in, with the
  /// group's own name behind it.
  base::Result<std::map<NodeId, std::string>> find() {
    std::map<NodeId, std::string> found;
    for (const MultiConvGroup& group : groups_) {
      PIPESCOPE_ASSIGN(const std::vector<const Node*> members, membersOf(group));
      std::vector<std::string> names;
      for (const Node* member : members) names.emplace_back(withoutSlash(member->name));
      const std::string name = commonLayer(names) + group.name;
      for (const Node* member : members) {
        if (found.emplace(member->id, name).second) continue;
        return base::badInput(
            fmt::format("model.multi_convs puts {} into the groups {} and {}: leave it in one of them.",
                        member->name, found.at(member->id), name));
      }
      PIPESCOPE_TRY(checkName(name));
    }
    return found;
  }

 private:
  base::Result<std::vector<const Node*>> membersOf(const MultiConvGroup& group) const {
    std::vector<bool> named(forward_.nodes().size(), false);
    for (const std::string& pattern : group.operators) {
      bool any = false;
      for (const Node& node : forward_.nodes()) {
        if (node.op != "Conv" || !namesBlock(withoutSlash(pattern), withoutSlash(node.name))) continue;
        any = named[static_cast<std::size_t>(node.id.value)] = true;
      }
      if (any) continue;
      return base::badInput(
          fmt::format("model.multi_convs \"{}\" names \"{}\", but no convolution of the model is called so: "
                      "`pipescope report` lists them in section operations.",
                      group.name, pattern));
    }
    std::vector<const Node*> members;
    for (const Node& node : forward_.nodes()) {
      if (named[static_cast<std::size_t>(node.id.value)]) members.push_back(&node);
    }
    if (!members.empty()) return members;
    return base::badInput(
        fmt::format("model.multi_convs \"{}\" names no operators: list convolutions.", group.name));
  }

  base::Status checkName(const std::string& name) {
    const bool taken = std::ranges::any_of(forward_.nodes(),
                                           [&](const Node& node) { return withoutSlash(node.name) == name; });
    if (!taken && names_.insert(name).second) return {};
    return base::badInput(fmt::format(
        "model.multi_convs would make an operator called {}, but there is one: choose another name.", name));
  }

  const Graph& forward_;
  const std::vector<MultiConvGroup>& groups_;
  std::set<std::string> names_;
};

class GroupMarker : public GraphRewriter {
 public:
  GroupMarker(const Graph& source, const std::map<NodeId, std::string>& groups,
              const ops::OperatorRegistry& registry)
      : GraphRewriter(source, registry), groups_(groups) {}

 protected:
  base::Status copyNode(const Node& node) override {
    Node copy = node;
    if (const auto group = groups_.find(node.id); group != groups_.end())
      copy.attributes[kMultiConv] = group->second;
    std::vector<TensorId> inputs;
    for (const TensorId input : node.inputs) inputs.push_back(of(input));
    return appendCopy(std::move(copy), std::move(inputs));
  }

 private:
  const std::map<NodeId, std::string>& groups_;
};

/// Checks the groups of a forward graph.
class GroupCheck {
 public:
  explicit GroupCheck(const Graph& forward) : forward_(forward) {
    for (const Node& node : forward.nodes()) {
      const std::string group = node.pass == model::Pass::forward ? groupOf(node) : "";
      if (!group.empty()) members_[group].push_back(&node);
    }
  }

  base::Status stages(const std::vector<StageSpec>& specs) const {
    const std::map<std::string, int> stageOf = stageOfBlocks(specs);
    for (const auto& [group, members] : members_) {
      const Node& first = *members.front();
      for (const Node* member : members) {
        const int one = stageOf.at(first.block), other = stageOf.at(member->block);
        if (one == other) continue;
        return base::badInput(
            fmt::format("The multi-convolution {} holds {} in stage {} and {} in stage {}: convolutions run "
                        "side by side on "
                        "one device only, so put them into one stage, or take one of them out of the group.",
                        group, first.name, one, member->name, other));
      }
    }
    return {};
  }

  base::Status dependencies() const {
    for (const auto& [group, members] : members_) {
      if (const std::optional<std::pair<const Node*, const Node*>> found = dependent(members)) {
        return base::badInput(fmt::format(
            "The multi-convolution {} holds {} and {}, which needs the result of the first: only "
            "convolutions "
            "that do not depend on each other run side by side, so take one of them out of the group.",
            group, found->first->name, found->second->name));
      }
    }
    const std::set<std::string> stuck = waiting();
    if (stuck.empty()) return {};
    return base::badInput(
        fmt::format("The multi-convolutions {} and {} need results of each other: let each of them hold only "
                    "convolutions "
                    "that no other group needs and feeds at once.",
                    *stuck.begin(), *std::next(stuck.begin())));
  }

 private:
  /// Two of the nodes, of which the second depends on the first.
  std::optional<std::pair<const Node*, const Node*>> dependent(
      const std::vector<const Node*>& members) const {
    std::map<NodeId, const Node*> from;  // one of the members that each node depends on
    for (const Node& node : forward_.nodes()) {
      for (const TensorId input : node.inputs) {
        const NodeId producer = input.valid() ? forward_.tensor(input).producer : NodeId();
        if (const auto found = from.find(producer); producer.valid() && found != from.end())
          from.try_emplace(node.id, found->second);
      }
      if (std::ranges::find(members, &node) == members.end()) continue;
      if (const auto found = from.find(node.id); found != from.end()) return {{found->second, &node}};
      from[node.id] = &node;
    }
    return std::nullopt;
  }

  /// The groups that can never run, because each of them waits for another one.
  std::set<std::string> waiting() const {
    std::set<NodeId> done;
    std::set<std::string> left;
    for (const auto& [group, members] : members_) left.insert(group);
    const auto ready = [&](const Node& node) {
      return std::ranges::all_of(node.inputs, [&](TensorId input) {
        const NodeId producer = input.valid() ? forward_.tensor(input).producer : NodeId();
        return !producer.valid() || done.contains(producer);
      });
    };
    // Nodes outside of groups run in their order; a group runs as soon as all its members can.
    for (bool more = true; more && !left.empty();) {
      more = false;
      for (const Node& node : forward_.nodes()) {
        if (node.pass == model::Pass::forward && groupOf(node).empty() && ready(node)) done.insert(node.id);
      }
      for (const auto& [group, members] : members_) {
        if (!left.contains(group) || !std::ranges::all_of(members, [&](const Node* n) { return ready(*n); }))
          continue;
        for (const Node* member : members) done.insert(member->id);
        left.erase(group);
        more = true;
      }
    }
    return left;
  }

  const Graph& forward_;
  std::map<std::string, std::vector<const Node*>> members_;
};

}  // namespace

base::Result<Graph> withMultiConvs(const Graph& forward, const std::vector<MultiConvGroup>& groups,
                                   const ops::OperatorRegistry& registry) {
  PIPESCOPE_ASSIGN(const auto groupOfNode, GroupFinder(forward, groups).find());
  return GroupMarker(forward, groupOfNode, registry).run();
}

bool hasMultiConvs(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(), [](const Node& node) { return !groupOf(node).empty(); });
}

base::Status checkMultiConvs(const Graph& forward, const std::vector<StageSpec>& stages) {
  if (!hasMultiConvs(forward)) return {};
  const GroupCheck check(forward);
  PIPESCOPE_TRY(check.stages(stages));
  return check.dependencies();
}

}  // namespace pipescope::compile
