#include "engine/onnx/pattern_nodes.h"

#include <cmath>
#include <cstring>

namespace pipescope::onnx {

const graph::Node* madeBy(const graph::Graph& graph, graph::TensorId id, const char* op) {
  const graph::NodeId producer = id.valid() ? graph.tensor(id).producer : graph::NodeId();
  if (!producer.valid()) return nullptr;
  const graph::Node& node = graph.node(producer);
  return node.op == op ? &node : nullptr;
}

std::optional<double> numberOf(const graph::Graph& graph, graph::TensorId id) {
  const std::vector<std::byte>* bytes = graph.constantValue(id);
  const graph::TensorType& type = graph.tensor(id).type;
  if (!bytes || type.elements() != 1) return std::nullopt;
  if (type.element == graph::ElementType::float32) {
    float single = 0;
    std::memcpy(&single, bytes->data(), sizeof single);
    return double{single};
  }
  if (type.element != graph::ElementType::float64) return std::nullopt;
  double value = 0;
  std::memcpy(&value, bytes->data(), sizeof value);
  return value;
}

bool isNumber(const graph::Graph& graph, graph::TensorId id, double value) {
  constexpr double kNear = 1e-6;
  const std::optional<double> own = numberOf(graph, id);
  return own && std::fabs(*own - value) < kNear;
}

}  // namespace pipescope::onnx
