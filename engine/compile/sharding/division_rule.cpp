#include "engine/compile/sharding/division_rule.h"

#include <algorithm>
#include <cstring>

namespace pipescope::compile {

std::int64_t blocksOf(const DivisionOptions& options, const graph::Shape& shape, DividedAxis axis) {
  if (options.positions == 0 || axis < 0) return 1;
  const std::int64_t extent = shape[static_cast<std::size_t>(axis)];
  return extent % options.positions == 0 ? extent / options.positions : 1;
}

std::int64_t DivisionCall::blocks(const graph::Shape& shape, DividedAxis axis) const {
  return blocksOf(options, shape, axis);
}

bool DivisionCall::divides(const graph::Shape& shape, DividedAxis axis) const {
  return axis >= 0 && axis < static_cast<DividedAxis>(shape.size()) &&
         (amongExperts() || shape[static_cast<std::size_t>(axis)] / blocks(shape, axis) % ranks() == 0);
}

std::optional<std::vector<std::int64_t>> DivisionCall::numbers(std::size_t input) const {
  if (!has(input)) return std::nullopt;
  const std::vector<std::byte>* bytes = graph.constantValue(node.inputs[input]);
  if (bytes == nullptr) return std::nullopt;
  const graph::TensorType& type = graph.tensor(node.inputs[input]).type;
  std::vector<std::int64_t> values;
  const auto read = [&](auto number) {
    for (std::size_t at = 0; at + sizeof number <= bytes->size(); at += sizeof number) {
      std::memcpy(&number, bytes->data() + at, sizeof number);
      values.push_back(static_cast<std::int64_t>(number));
    }
  };
  if (type.element == graph::ElementType::int64) {
    read(std::int64_t{});
  } else if (type.element == graph::ElementType::int32) {
    read(std::int32_t{});
  } else {
    return std::nullopt;
  }
  return values;
}

NodeDivision wholeDivision(const DivisionCall& call) {
  NodeDivision division;
  division.inputs.assign(call.node.inputs.size(), kWhole);
  division.outputs.assign(call.node.outputs.size(), kWhole);
  return division;
}

bool NodeDivision::shares() const {
  const auto divided = [](DividedAxis axis) { return axis != kWhole; };
  return sums || forShares || special != Special::none || std::ranges::any_of(inputs, divided) ||
         std::ranges::any_of(outputs, divided);
}

DivisionRule DivisionRules::find(const std::string& op) const {
  const auto found = rules_.find(op);
  return found == rules_.end() ? nullptr : found->second;
}

const DivisionRules& divisionRules() {
  static const DivisionRules rules = [] {
    DivisionRules all;
    registerDivisionRules(all);
    return all;
  }();
  return rules;
}

}  // namespace pipescope::compile
