#include "engine/ops/experts/routing.h"

#include <fmt/format.h>

#include <algorithm>

namespace pipescope::ops {

std::int64_t slotsOf(const Routing& routing) {
  const std::int64_t all = routing.tokens * routing.choices;
  if (routing.capacity == 0 || routing.capacity >= all) return all;
  return std::min(all, routing.experts * routing.capacity);
}

Status checkChoices(const OperatorCall& call, std::size_t input) {
  const TensorType& type = call.input(input);
  if (type.element == ElementType::int64 && type.shape.size() == 2) return {};
  return base::badInput(fmt::format("{}: input {} is {}; it must be int64 with the axes tokens and choices",
                                    call.title(), input, graph::toString(type)));
}

Result<std::int64_t> expertsOf(const OperatorCall& call, std::size_t input) {
  const TensorType& type = call.input(input);
  if (type.element == ElementType::int64 && type.shape.size() == 1 && type.shape[0] > 0) return type.shape[0];
  return base::badInput(fmt::format("{}: input {} is {}; it must be int64 with one number for each expert",
                                    call.title(), input, graph::toString(type)));
}

EvenGroups evenGroups(std::int64_t rows, std::int64_t experts) {
  const std::int64_t groups = std::max<std::int64_t>(1, std::min(rows, experts));
  return {groups, std::max<std::int64_t>(1, (rows + groups - 1) / groups)};
}

}  // namespace pipescope::ops
