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

namespace {

struct Found {
  std::int64_t infinite = 0, nan = 0;
};

Found notFiniteOf(ElementType type, std::span<const std::byte> tensor) {
  Found found;
  if (!isTrainable(type)) return found;
  const auto count = tensor.size() / static_cast<std::size_t>(graph::sizeOf(type));
  std::array<float, 2048> values;
  for (std::size_t first = 0; first < count; first += values.size()) {
    const std::span<float> part = std::span(values).first(std::min(values.size(), count - first));
    readFloats(type, tensor, first, part);
    for (const float value : part) {
      found.nan += std::isnan(value) ? 1 : 0;
      found.infinite += std::isinf(value) ? 1 : 0;
    }
  }
  return found;
}

bool isComparison(const std::string& op) {
  return op == "Greater" || op == "GreaterOrEqual" || op == "Less" || op == "LessOrEqual";
}

base::Error exceptionIn(const std::string& title, const std::string& what) {
  return {base::ErrorKind::refused, fmt::format("Floating-point exception: {} {}.", title, what)};
}

}  // namespace

std::int64_t countNotFinite(ElementType type, std::span<const std::byte> tensor) {
  const Found found = notFiniteOf(type, tensor);
  return found.infinite + found.nan;
}

CheckedNode CheckedNode::of(const graph::Graph& graph, const graph::Node& node) {
  return {node.op + " " + node.name, typesOf(graph, node.inputs), typesOf(graph, node.outputs),
          isComparison(node.op)};
}

Numbers CheckedNode::start(std::span<const std::span<const std::byte>> values) const {
  Numbers numbers = Numbers::finite;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Found found = notFiniteOf(inputs[i], values[i]);
    if (found.nan > 0) return Numbers::nan;
    if (found.infinite > 0) numbers = Numbers::infinite;
  }
  return numbers;
}

base::Status CheckedNode::check(Numbers start, std::span<const std::span<std::byte>> values) const {
  if (start == Numbers::nan) {
    if (compares) return exceptionIn(title, "compares with NaN");
    return {};
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Found found = notFiniteOf(outputs[i], values[i]);
    if (start == Numbers::finite && found.infinite + found.nan > 0)
      return exceptionIn(title, fmt::format("makes {} infinite or NaN values from finite inputs",
                                            found.infinite + found.nan));
    if (start == Numbers::infinite && found.nan > 0)
      return exceptionIn(title, fmt::format("makes {} NaN values from infinite inputs", found.nan));
  }
  return {};
}

}  // namespace pipescope::numerics
