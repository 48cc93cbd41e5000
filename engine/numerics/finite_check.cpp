#include "engine/numerics/finite_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/numerics/values.h"

namespace pipescope::numerics {
namespace {

using graph::ElementType;

std::vector<ElementType> typesOf(const graph::Graph& graph, const std::vector<graph::TensorId>& ids) {
  std::vector<ElementType> types;
  for (const graph::TensorId id : ids)
    types.push_back(id.valid() ? graph.tensor(id).type.element : ElementType::int8);
  return types;
}

}  // namespace

std::int64_t countNotFinite(ElementType type, std::span<const std::byte> tensor) {
  if (!isTrainable(type)) return 0;
  const auto count = tensor.size() / static_cast<std::size_t>(graph::sizeOf(type));
  std::array<float, 2048> values;
  std::int64_t found = 0;
  for (std::size_t first = 0; first < count; first += values.size()) {
    const std::span<float> part = std::span(values).first(std::min(values.size(), count - first));
    readFloats(type, tensor, first, part);
    for (const float value : part) found += std::isfinite(value) ? 0 : 1;
  }
  return found;
}

CheckedNode CheckedNode::of(const graph::Graph& graph, const graph::Node& node) {
  return {node.op + " " + node.name, typesOf(graph, node.inputs), typesOf(graph, node.outputs)};
}

bool CheckedNode::startsFinite(std::span<const std::span<const std::byte>> values) const {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (countNotFinite(inputs[i], values[i]) > 0) return false;
  }
  return true;
}

base::Status CheckedNode::check(std::span<const std::span<std::byte>> values) const {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::int64_t found = countNotFinite(outputs[i], values[i]);
    if (found == 0) continue;
    return base::Error{
        base::ErrorKind::refused,
        fmt::format("Floating-point exception: {} makes {} infinite or NaN values from finite inputs.", title,
                    found)};
  }
  return {};
}

}  // namespace pipescope::numerics
