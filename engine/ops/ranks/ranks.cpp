#include "engine/ops/ranks/ranks.h"

#include <fmt/format.h>

#include <optional>

namespace pipescope::ops {
namespace {

std::optional<model::MeshAxis> axisNamed(const std::string& name) {
  using enum model::MeshAxis;
  for (const model::MeshAxis axis : {data, tensor, context, expert})
    if (name == model::toString(axis)) return axis;
  return std::nullopt;
}

}  // namespace

std::int64_t ranksOf(const Node& node) {
  return graph::intAttribute(node, kRanks, 1);
}

model::MeshAxis meshAxisOf(const Node& node) {
  return axisNamed(graph::stringAttribute(node, kMeshAxis, "tensor")).value_or(model::MeshAxis::tensor);
}

Status checkRanks(const OperatorCall& call) {
  constexpr std::int64_t kMostRanks = 1 << 20;
  if (const std::int64_t ranks = ranksOf(call.node); ranks < 1 || ranks > kMostRanks)
    return base::badInput(
        fmt::format("{}: {} ranks take part; give 1 to {}", call.title(), ranks, kMostRanks));
  if (const std::string name = graph::stringAttribute(call.node, kMeshAxis, "tensor"); !axisNamed(name))
    return base::badInput(
        fmt::format("{}: there is no axis {} of the mesh; it can be data, tensor, context or expert",
                    call.title(), name));
  return {};
}

Result<std::size_t> axisOf(const OperatorCall& call) {
  const auto rank = static_cast<std::int64_t>(call.input(0).shape.size());
  const std::int64_t axis = graph::intAttribute(call.node, "axis", 0);
  if (axis < 0 || axis >= rank)
    return base::badInput(
        fmt::format("{}: axis {} of a tensor with {} axes does not exist", call.title(), axis, rank));
  return static_cast<std::size_t>(axis);
}

std::vector<Work> rankCollective(const OperatorCall& call, Collective::Kind kind, std::int64_t elements) {
  if (ranksOf(call.node) == 1) return {};
  return {{Collective{.kind = kind,
                      .elements = elements,
                      .type = call.input(0).element,
                      .group = ranksOf(call.node),
                      .axis = meshAxisOf(call.node),
                      .ofModel = true},
           1, ""}};
}

}  // namespace pipescope::ops
