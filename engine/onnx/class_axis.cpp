#include "engine/onnx/class_axis.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace pipescope::onnx {

using graph::Graph;
using graph::Node;
using graph::Shape;
using graph::Tensor;
using graph::TensorId;

namespace {

constexpr std::size_t kLost = static_cast<std::size_t>(-1);

/// Follows scores back to what makes them. `places_` says which axis of the scores each axis of the current
/// tensor has become.
class AxisTracer {
 public:
  AxisTracer(const Graph& graph, TensorId scores) : graph_(graph), at_(scores) {
    places_.resize(graph.tensor(scores).type.shape.size());
    std::iota(places_.begin(), places_.end(), std::size_t{0});
  }

  std::optional<std::size_t> run() {
    while (graph_.tensor(at_).producer.valid()) {
      const Node& node = graph_.node(graph_.tensor(at_).producer);
      if (const std::optional<std::size_t> own = axisOf(node)) {
        if (*own >= places_.size() || places_[*own] == kLost) return std::nullopt;
        return places_[*own];
      }
      if (!stepTo(node)) return std::nullopt;
    }
    return std::nullopt;
  }

 private:
  const Shape& shapeOf(TensorId id) const { return graph_.tensor(id).type.shape; }

  /// The axis of classes if the node decides it.
  std::optional<std::size_t> axisOf(const Node& node) const {
    const std::size_t rank = places_.size();
    if ((node.op == "MatMul" || node.op == "Gemm") && rank > 0) return rank - 1;
    if (node.op == "Conv" || node.op == "ConvTranspose") return 1;
    if (node.op != "Softmax" && node.op != "LogSoftmax") return std::nullopt;
    const std::int64_t axis = graph::intAttribute(node, "axis", -1);
    return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis);
  }

  bool stepTo(const Node& node) {
    if (node.op == "Transpose") return transpose(node);
    for (const TensorId input : node.inputs) {
      if (!input.valid() || shapeOf(input) != shapeOf(at_)) continue;
      at_ = input;
      return true;
    }
    constexpr const char* kArrange[] = {"Reshape", "Flatten", "Squeeze", "Unsqueeze", "Slice",
                                        "Resize",  "Gather",  "Concat",  "Pad"};
    if (std::ranges::find(kArrange, node.op) == std::end(kArrange) || !node.inputs[0].valid()) return false;
    keepEqualEnds(shapeOf(node.inputs[0]));
    at_ = node.inputs[0];
    return true;
  }

  bool transpose(const Node& node) {
    std::vector<std::int64_t> order(places_.size());
    std::iota(order.rbegin(), order.rend(), std::int64_t{0});
    order = graph::intsAttribute(node, "perm", order);
    std::vector<std::size_t> before(places_.size(), kLost);
    for (std::size_t i = 0; i < order.size(); ++i) before[static_cast<std::size_t>(order[i])] = places_[i];
    places_ = before;
    at_ = node.inputs[0];
    return true;
  }

  /// Keeps the axes at both ends whose extents stay. Other axes that are joined or divided are not known
  /// afterwards.
  void keepEqualEnds(const Shape& from) {
    const Shape& to = shapeOf(at_);
    std::vector<std::size_t> before(from.size(), kLost);
    const std::size_t shorter = std::min(from.size(), to.size());
    for (std::size_t i = 0; i < shorter && from[i] == to[i]; ++i) before[i] = places_[i];
    for (std::size_t i = 1; i <= shorter && from[from.size() - i] == to[to.size() - i]; ++i)
      before[from.size() - i] = places_[to.size() - i];
    places_ = before;
  }

  const Graph& graph_;
  TensorId at_;
  std::vector<std::size_t> places_;
};

bool hasTokensOf(const Graph& graph, Shape shape) {
  shape.pop_back();
  return std::ranges::any_of(graph.inputs, [&](TensorId id) {
    const graph::TensorType& type = graph.tensor(id).type;
    const bool whole = type.element == graph::ElementType::int32 || type.element == graph::ElementType::int64;
    return whole && type.shape == shape;
  });
}

}  // namespace

std::size_t classAxis(const Graph& graph, TensorId scores) {
  const Shape& shape = graph.tensor(scores).type.shape;
  if (shape.size() <= 2) return 1;
  const std::optional<std::size_t> found = AxisTracer(graph, scores).run();
  if (found && *found > 0) return *found;
  return hasTokensOf(graph, shape) ? shape.size() - 1 : 1;
}

}  // namespace pipescope::onnx
