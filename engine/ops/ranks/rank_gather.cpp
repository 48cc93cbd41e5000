// Operators that divide a tensor along an axis over the ranks, and put it together again:
// - RankSlice keeps the rank's own part of a tensor that all ranks hold. Its gradient gathers the parts.
// - RankGather puts the parts of all ranks together (all-gather). If all ranks go on with the same work, its
//   gradient is the rank's own part. With `sums`, each rank goes on with work of its own, so its gradient
//   adds up and divides (reduce-scatter).
// - RankScatterSum adds up over the ranks and keeps the rank's own part (reduce-scatter). Its gradient
// gathers. Source: sequence parallelism, arXiv 2205.05198, figures 5 and 6.
#include <fmt/format.h>

#include "engine/ops/core/gradient_builder.h"
#include "engine/ops/ranks/ranks.h"

namespace pipescope::ops {
namespace {

Result<std::vector<TensorType>> inferRankGather(const OperatorCall& call) {
  PIPESCOPE_TRY(checkRanks(call));
  PIPESCOPE_ASSIGN(const std::size_t axis, axisOf(call));
  TensorType type = call.input(0);
  type.shape[axis] *= ranksOf(call.node);
  return std::vector<TensorType>{type};
}

Result<std::vector<TensorType>> inferRankSlice(const OperatorCall& call) {
  PIPESCOPE_TRY(checkRanks(call));
  PIPESCOPE_ASSIGN(const std::size_t axis, axisOf(call));
  TensorType type = call.input(0);
  const std::int64_t ranks = ranksOf(call.node);
  if (type.shape[axis] % ranks != 0)
    return base::badInput(fmt::format("{}: axis {} has {} elements, which do not divide by {} ranks",
                                      call.title(), axis, type.shape[axis], ranks));
  type.shape[axis] /= ranks;
  return std::vector<TensorType>{type};
}

std::vector<Work> rankGatherWork(const OperatorCall& call) {
  return rankCollective(call, Collective::Kind::allGather, call.outputs.at(0).elements());
}

std::vector<Work> rankScatterWork(const OperatorCall& call) {
  return rankCollective(call, Collective::Kind::reduceScatter, call.input(0).elements());
}

std::vector<Work> rankSliceWork(const OperatorCall& call) {
  if (ranksOf(call.node) == 1) return {};
  const TensorType& part = call.outputs.at(0);
  std::int64_t run = 1;
  for (auto axis = static_cast<std::size_t>(graph::intAttribute(call.node, "axis", 0));
       axis < part.shape.size(); ++axis)
    run *= part.shape[axis];
  return {{Rearrange{part.elements(), run, part.element}, 1, ""}};
}

graph::Attributes withoutSums(const Node& node) {
  graph::Attributes attributes = node.attributes;
  attributes.erase("sums");
  return attributes;
}

Status rankGatherGradient(GradientBuilder& builder) {
  const bool sums = graph::intAttribute(builder.node(), "sums", 0) != 0;
  return builder.addFor(0, sums ? "RankScatterSum" : "RankSlice", "grad_input", {builder.outputGradient(0)},
                        withoutSums(builder.node()));
}

Status gatherGradient(GradientBuilder& builder) {
  return builder.addFor(0, "RankGather", "grad_input", {builder.outputGradient(0)},
                        builder.node().attributes);
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(rank_gather) {
  std::vector<AttributeRule> attributes{
      {kRanks, AttributeKind::integer}, {kMeshAxis, AttributeKind::text}, {"axis", AttributeKind::integer}};
  registry.add({.type = "RankSlice",
                .attributes = attributes,
                .infer = inferRankSlice,
                .work = rankSliceWork,
                .gradient = gatherGradient});
  registry.add({.type = "RankScatterSum",
                .attributes = attributes,
                .infer = inferRankSlice,
                .work = rankScatterWork,
                .gradient = gatherGradient});
  attributes.push_back({"sums", AttributeKind::integer});
  registry.add({.type = "RankGather",
                .attributes = attributes,
                .infer = inferRankGather,
                .work = rankGatherWork,
                .gradient = rankGatherGradient});
}

}  // namespace pipescope::ops
