#include "engine/numerics/combine_nodes.h"

#include <algorithm>
#include <map>
#include <optional>

#include "engine/numerics/node_readers.h"

namespace pipescope::numerics {
namespace {

using graph::Graph;
using graph::Node;
using graph::TensorId;
using Ints = std::vector<std::int64_t>;

/// True if a constant holds only zero bits (+0 or false).
bool isZero(const Graph& graph, TensorId id) {
  const std::vector<std::byte>* bytes = id.valid() ? graph.constantValue(id) : nullptr;
  return bytes && std::ranges::all_of(*bytes, [](std::byte b) { return b == std::byte{0}; });
}

/// True if a node returns its first input unchanged: a dropout that drops nothing.
bool passesOn(const Graph& graph, const Node& node) {
  if (node.op != "Dropout" && node.op != "GradDropout") return false;
  const bool off = node.inputs.size() < 3 || !node.inputs[2].valid() || isZero(graph, node.inputs[2]);
  return off || isZero(graph, node.inputs[1]);
}

/// The nodes without those that return their input unchanged. Whoever reads their output then reads the
/// input.
std::vector<Node> withoutPassing(const Graph& graph) {
  const NodeReaders readers(graph, graph.nodes());
  std::map<TensorId, TensorId> same;
  std::vector<Node> nodes = graph.nodes();
  std::vector<bool> dropped(nodes.size(), false);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (TensorId& input : nodes[i].inputs) {
      if (const auto found = same.find(input); found != same.end()) input = found->second;
    }
    if (!passesOn(graph, nodes[i]) || readers.kept(nodes[i].outputs[0])) continue;
    const TensorId mask = nodes[i].outputs.size() > 1 ? nodes[i].outputs[1] : TensorId();
    if (mask.valid() && (readers.kept(mask) || !readers.of(mask).empty())) continue;
    same[nodes[i].outputs[0]] = nodes[i].inputs[0];
    dropped[i] = true;
  }
  return withoutDropped(std::move(nodes), dropped);
}

class Combiner {
 public:
  explicit Combiner(const Graph& graph)
      : graph_(graph),
        nodes_(withoutPassing(graph)),
        readers_(graph, nodes_),
        dropped_(nodes_.size(), false) {}

  std::vector<Node> run() {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].op == "Transpose") throughTransposed(i);
    }
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].op == "MatMul" || nodes_[i].op == "Linear") withBias(i);
      if (nodes_[i].op == "Sum") sideBySide(i);
    }
    return withoutDropped(std::move(nodes_), dropped_);
  }

 private:
  const graph::TensorType& typeOf(TensorId id) const { return graph_.tensor(id).type; }

  bool isMatrix(TensorId id) const {
    return id.valid() && typeOf(id).shape.size() == 2 && typeOf(id).element == graph::ElementType::float32;
  }
  /// True for an input of the graph or a weight, which exists before the first node runs.
  bool isRoot(TensorId id) const { return !readers_.producer(id); }
  static bool swapsAxes(const Node& node) {
    return node.op == "Transpose" && graph::intsAttribute(node, "perm", {1, 0}) == Ints{1, 0};
  }

  /// If only products read a transposed weight, as their right factor, they take the weight as it is.
  void throughTransposed(std::size_t transpose) {
    const TensorId weight = nodes_[transpose].inputs[0], turned = nodes_[transpose].outputs[0];
    if (!isMatrix(weight) || !swapsAxes(nodes_[transpose]) || readers_.kept(turned)) return;
    for (const std::size_t reader : readers_.of(turned)) {
      const Node& node = nodes_[reader];
      if ((node.op != "MatMul" && node.op != "GradMatMulLeft") || node.inputs[1] != turned ||
          node.inputs[0] == turned)
        return;
    }
    for (const std::size_t reader : readers_.of(turned)) {
      Node& node = nodes_[reader];
      node.inputs[1] = weight;
      if (node.op == "MatMul") {
        node.op = "Linear";
        node.attributes = {{"transposed", std::int64_t{1}}};
        turnWeightGradient(node);
      } else {
        node.op = "MatMul";
        node.attributes.clear();
      }
    }
    dropped_[transpose] = true;
  }

  /// dWᵀ = xᵀ·dy followed by a Transpose becomes dW = dyᵀ·x.
  void turnWeightGradient(const Node& forward) {
    const TensorId x = forward.inputs[0];
    for (const std::size_t reader : readers_.of(x)) {
      Node& node = nodes_[reader];
      if (node.op != "GradMatMulRight" || node.inputs[0] != x || node.inputs[1] == x) continue;
      const std::optional<std::size_t> next = readers_.only(node.outputs[0]);
      if (!next || !swapsAxes(nodes_[*next]) || !isMatrix(node.outputs[0])) continue;
      const graph::Shape& target = typeOf(nodes_[*next].outputs[0]).shape;
      // Products with vectors have other shapes.
      if (typeOf(x).shape.size() < 2 || typeOf(node.inputs[1]).shape.size() != typeOf(x).shape.size())
        continue;
      std::swap(node.inputs[0], node.inputs[1]);
      node.outputs = nodes_[*next].outputs;
      node.attributes = {{"input_shape", target}};
      dropped_[*next] = true;
    }
  }

  /// Combines a MatMul with the Add of a vector that follows it.
  void withBias(std::size_t product) {
    Node& node = nodes_[product];
    if (!isMatrix(node.inputs[1]) || node.inputs.size() != 2 || !node.outputs[0].valid()) return;
    const std::optional<std::size_t> next = readers_.only(node.outputs[0]);
    if (!next || nodes_[*next].op != "Add" || dropped_[*next]) return;
    const Node& sum = nodes_[*next];
    const TensorId bias = sum.inputs[0] == node.outputs[0] ? sum.inputs[1] : sum.inputs[0];
    const graph::TensorType& result = typeOf(sum.outputs[0]);
    if (!isRoot(bias) || result != typeOf(node.outputs[0]) || result.shape.empty()) return;
    // The bias needs one number for each column. If W were a vector, columns would not be the last axis, but
    // isMatrix() excludes this.
    if (typeOf(bias).elements() != result.shape.back() || typeOf(bias).shape.empty() ||
        typeOf(bias).shape.back() != result.shape.back())
      return;
    if (node.op == "MatMul") node.attributes = {{"transposed", std::int64_t{0}}};
    node.op = "Linear";
    node.inputs.push_back(bias);
    node.outputs = sum.outputs;
    dropped_[*next] = true;
  }

  /// Place of the gradient of a slice. None if it is not a plain piece along one axis.
  struct Piece {
    std::size_t axis = 0;
    std::int64_t begin = 0, length = 0;
    TensorId gradient;
    std::size_t node = 0;
  };
  std::optional<Piece> pieceOf(TensorId id) const {
    const std::optional<std::size_t> producer = readers_.producer(id);
    if (!producer || !readers_.only(id)) return std::nullopt;
    const Node& node = nodes_[*producer];
    if (node.op != "GradSlice") return std::nullopt;
    const graph::Shape &from = typeOf(node.inputs[0]).shape, &to = typeOf(id).shape;
    const Ints begin = graph::intsAttribute(node, "begin", {}),
               steps = graph::intsAttribute(node, "steps", {});
    std::optional<Piece> piece;
    for (std::size_t axis = 0; axis < to.size(); ++axis) {
      if (from[axis] == to[axis] && steps[axis] == 1) continue;
      if (piece || steps[axis] != 1) return std::nullopt;
      piece = Piece{.axis = axis,
                    .begin = begin[axis],
                    .length = from[axis],
                    .gradient = node.inputs[0],
                    .node = *producer};
    }
    return piece;
  }

  /// Combines a Sum of GradSlices whose pieces are adjacent and cover everything.
  void sideBySide(std::size_t sum) {
    Node& node = nodes_[sum];
    std::vector<Piece> pieces;
    for (const TensorId input : node.inputs) {
      const std::optional<Piece> piece = pieceOf(input);
      if (!piece || (!pieces.empty() && pieces.front().axis != piece->axis)) return;
      pieces.push_back(*piece);
    }
    if (pieces.size() < 2) return;
    std::ranges::sort(pieces, {}, &Piece::begin);
    const graph::Shape& whole = typeOf(node.outputs[0]).shape;
    std::int64_t end = 0;
    Ints lengths;
    for (const Piece& piece : pieces) {
      if (piece.begin != end || typeOf(nodes_[piece.node].outputs[0]).shape != whole) return;
      end += piece.length;
      lengths.push_back(piece.length);
    }
    const std::size_t axis = pieces.front().axis;
    if (end != whole[axis]) return;
    node.op = "GradSplit";
    node.inputs.clear();
    for (const Piece& piece : pieces) {
      node.inputs.push_back(piece.gradient);
      dropped_[piece.node] = true;
    }
    node.attributes = {{"axis", static_cast<std::int64_t>(axis)}, {"split", lengths}, {"input_shape", whole}};
  }

  const Graph& graph_;
  std::vector<Node> nodes_;
  const NodeReaders readers_;  ///< readers of the nodes before any were combined
  std::vector<bool> dropped_;
};

}  // namespace

std::vector<Node> combineNodes(const Graph& graph) {
  return Combiner(graph).run();
}

}  // namespace pipescope::numerics
