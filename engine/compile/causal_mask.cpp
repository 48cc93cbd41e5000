#include "engine/compile/causal_mask.h"

#include <cstring>

namespace pipescope::compile {

using graph::Constant;
using graph::ElementType;
using graph::Node;
using graph::TensorId;

bool CausalMasks::hidesLater(const Node& node, TensorId scores, std::int64_t keys) const {
  if (node.op == "Where" && node.inputs.size() == 3) {
    const Mask mask = kindOf(node.inputs[0], keys);
    return (mask == Mask::seen && node.inputs[1] == scores) ||
           (mask == Mask::hidden && node.inputs[2] == scores);
  }
  if (node.op != "Add" || node.inputs.size() != 2) return false;
  return kindOf(node.inputs[node.inputs[0] == scores ? 1 : 0], keys) == Mask::added;
}

CausalMasks::Mask CausalMasks::kindOf(TensorId mask, std::int64_t keys) const {
  const TensorId constant = constantOf(mask);
  if (!constant.valid()) return Mask::other;
  const auto [found, isNew] = known_.try_emplace(constant, Mask::other);
  if (isNew) found->second = read(constant, keys);
  return found->second;
}

/// The constant that the tensor is made of, by operators that only cut rows, change the type or the shape.
TensorId CausalMasks::constantOf(TensorId tensor) const {
  while (tensor.valid() && graph_.tensor(tensor).producer.valid()) {
    const Node& maker = graph_.node(graph_.tensor(tensor).producer);
    const bool same = maker.op == "RankSlice" || maker.op == "Cast" || maker.op == "Reshape" ||
                      maker.op == "Unsqueeze" || maker.op == "Squeeze";
    if (!same) return {};
    tensor = maker.inputs[0];
  }
  return tensor.valid() && graph_.constant(tensor) != nullptr ? tensor : TensorId();
}

CausalMasks::Mask CausalMasks::read(TensorId constant, std::int64_t keys) const {
  const graph::TensorType& type = graph_.tensor(constant).type;
  const std::size_t rank = type.shape.size();
  const bool square = rank >= 2 && type.shape[rank - 1] == keys && type.shape[rank - 2] == keys &&
                      type.elements() == keys * keys;
  if (!square || keys < 2) return Mask::other;
  const Constant* value = graph_.constant(constant);
  if (value->pattern() == Constant::Pattern::lowerTriangle) return Mask::seen;
  const std::vector<std::byte>* bytes = value->known();
  if (bytes == nullptr) return Mask::other;
  const auto isTriangle = [&](const auto& below, const auto& above) {
    for (std::int64_t row = 0; row < keys; ++row) {
      for (std::int64_t column = 0; column < keys; ++column) {
        const auto at = static_cast<std::size_t>(row * keys + column);
        if (column <= row ? !below(at) : !above(at)) return false;
      }
    }
    return true;
  };
  if (type.element == ElementType::boolean) {
    const auto isTrue = [&](std::size_t at) { return (*bytes)[at] != std::byte{0}; };
    const auto isFalse = [&](std::size_t at) { return (*bytes)[at] == std::byte{0}; };
    if (isTriangle(isTrue, isFalse)) return Mask::seen;
    return isTriangle(isFalse, isTrue) ? Mask::hidden : Mask::other;
  }
  if (type.element != ElementType::float32) return Mask::other;
  constexpr float kHidden = -10000;
  const auto number = [&](std::size_t at) {
    float own = 0;
    std::memcpy(&own, bytes->data() + at * sizeof(float), sizeof(float));
    return own;
  };
  const bool added = isTriangle([&](std::size_t at) { return number(at) == 0; },
                                [&](std::size_t at) { return number(at) <= kHidden; });
  return added ? Mask::added : Mask::other;
}

}  // namespace pipescope::compile
