#include "engine/numerics/combine_moves.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "engine/numerics/node_readers.h"
#include "engine/ops/moves/slice.h"
#include "engine/ops/moves/strided_move.h"

namespace pipescope::numerics {
namespace {

using graph::Node;
using graph::TensorId;
using ops::StridedView;
using Ints = std::vector<std::int64_t>;

bool renames(const Node& node) {
  static constexpr std::string_view ops[] = {"Reshape", "Squeeze", "Unsqueeze", "Flatten"};
  return std::ranges::find(ops, node.op) != std::end(ops);
}

class MoveCombiner {
 public:
  MoveCombiner(const graph::Graph& graph, std::vector<Node> nodes)
      : graph_(graph), nodes_(std::move(nodes)), readers_(graph, nodes_), dropped_(nodes_.size(), false) {}

  std::vector<Node> run() {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (isMove(nodes_[i]) && !nextMove(i)) combineChain(i);
      if (nodes_[i].op == "GradSplit") combineSplit(i);
    }
    return withoutDropped(std::move(nodes_), dropped_);
  }

 private:
  const graph::Shape& shapeOf(TensorId id) const { return graph_.tensor(id).type.shape; }
  static bool isMove(const Node& node) {
    return node.op == "Slice" || node.op == "Transpose" || renames(node);
  }

  /// True if only one node reads the output of this one, and that node is a move.
  bool nextMove(std::size_t node) const {
    const std::optional<std::size_t> next = readers_.only(nodes_[node].outputs[0]);
    return next && isMove(nodes_[*next]) && nodes_[*next].inputs[0] == nodes_[node].outputs[0];
  }
  /// The move that makes a tensor, if nobody else reads the tensor.
  std::optional<std::size_t> moveBehind(TensorId id) const {
    const std::optional<std::size_t> producer = id.valid() ? readers_.producer(id) : std::nullopt;
    if (!producer || !readers_.only(id) || !isMove(nodes_[*producer])) return std::nullopt;
    return producer;
  }
  Ints permOf(const Node& node) const {
    Ints reversed;
    for (auto axis = static_cast<std::int64_t>(shapeOf(node.inputs[0]).size()); axis-- > 0;)
      reversed.push_back(axis);
    return graph::intsAttribute(node, "perm", reversed);
  }

  /// Turns the view of the input of a node into the view of its output.
  bool follow(const Node& node, StridedView& view) const {
    if (renames(node)) return view.reshape(shapeOf(node.outputs[0]));
    if (node.op == "Slice") {
      const base::Result<ops::SliceSetup> setup = ops::sliceSetupOf(ops::callOf(graph_, node));
      return setup.ok() && view.cut(setup->extents, setup->begin, setup->step);
    }
    view.permute(permOf(node));
    return true;
  }

  void combineChain(std::size_t last) {
    std::vector<std::size_t> chain{last};  // last to first
    while (const std::optional<std::size_t> before = moveBehind(nodes_[chain.back()].inputs[0]))
      chain.push_back(*before);
    const auto copies = [this](std::size_t i) { return !renames(nodes_[i]); };
    // Start with the earliest node from which one view covers all that follows.
    for (; std::ranges::count_if(chain, copies) >= 2; chain.pop_back()) {
      StridedView view(shapeOf(nodes_[chain.back()].inputs[0]));
      if (!std::ranges::all_of(chain.rbegin(), chain.rend(),
                               [&](std::size_t i) { return follow(nodes_[i], view); }))
        continue;
      const TensorId source = nodes_[chain.back()].inputs[0];
      for (std::size_t i = 1; i < chain.size(); ++i) dropped_[chain[i]] = true;
      nodes_[last].op = ops::stridedReadDefinition().type;
      nodes_[last].inputs = {source};
      nodes_[last].attributes = view.attributes();
      return;
    }
  }

  /// Turns the view of the output of a node into the view of its input, because gradients flow back through
  /// views.
  bool goBack(const Node& node, StridedView& view) const {
    if (renames(node)) return view.reshape(shapeOf(node.inputs[0]));
    if (node.op != "Transpose") return false;
    const Ints perm = permOf(node);
    Ints back(perm.size());
    for (std::size_t i = 0; i < perm.size(); ++i)
      back[static_cast<std::size_t>(perm[i])] = static_cast<std::int64_t>(i);
    view.permute(back);
    return true;
  }

  void combineSplit(std::size_t split) {
    Node& node = nodes_[split];
    if (!std::ranges::all_of(node.inputs, [](TensorId id) { return id.valid(); })) return;
    const graph::Shape whole = shapeOf(node.outputs[0]);
    const auto axis = static_cast<std::size_t>(graph::intAttribute(node, "axis", 0));
    const Ints lengths = graph::intsAttribute(node, "split", {});
    graph::Attributes attributes;
    std::vector<TensorId> sources;
    std::vector<std::size_t> gone;
    Ints begin(whole.size(), 0);
    std::size_t copies = 0;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      StridedView view(whole);
      if (!view.cut(shapeOf(node.inputs[i]), begin, Ints(whole.size(), 1))) return;
      begin[axis] += lengths[i];
      TensorId source = node.inputs[i];
      while (const std::optional<std::size_t> before = moveBehind(source)) {
        StridedView further = view;
        if (!goBack(nodes_[*before], further)) break;
        view = std::move(further);
        copies += nodes_[*before].op == "Transpose" ? 1 : 0;
        gone.push_back(*before);
        source = nodes_[*before].inputs[0];
      }
      sources.push_back(source);
      for (auto& [name, value] : view.attributes()) {
        auto& all = std::get<Ints>(attributes.try_emplace(name, Ints()).first->second);
        const Ints& own = std::get<Ints>(value);
        all.insert(all.end(), own.begin(), own.end());
      }
    }
    if (copies == 0) return;
    for (const std::size_t each : gone) dropped_[each] = true;
    node.op = ops::stridedWriteDefinition().type;
    node.inputs = std::move(sources);
    node.attributes = std::move(attributes);
  }

  const graph::Graph& graph_;
  std::vector<Node> nodes_;
  const NodeReaders readers_;
  std::vector<bool> dropped_;
};

}  // namespace

std::vector<graph::Node> combineMoves(const graph::Graph& graph, std::vector<graph::Node> nodes) {
  return MoveCombiner(graph, std::move(nodes)).run();
}

}  // namespace pipescope::numerics
