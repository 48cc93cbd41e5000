// Operators that divide a tensor along an axis over the ranks, and put it together again. With `blocks`, the
// axis holds so many equal blocks one behind the other, and a part is the same part of each of them.
// - RankSlice keeps the rank's own part of a tensor that all ranks hold. Its gradient gathers the parts; with
//   `alone`, other ranks have gradients of their own, so it is RankPad, which puts zeros around the part. A
//   part that is `stored` is cut once, when the program is loaded.
// - RankGather puts the parts of all ranks together (all-gather). If all ranks go on with the same work, its
//   gradient is the rank's own part. With `sums`, each rank goes on with work of its own, so its gradient
//   adds up and divides (reduce-scatter).
// - RankExchange changes the axis along which parts lie from `axis` to `to_axis` (all-to-all). Its gradient
//   changes back.
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

Result<std::vector<TensorType>> inferRankExchange(const OperatorCall& call) {
  PIPESCOPE_TRY(checkRanks(call));
  PIPESCOPE_ASSIGN(const std::size_t axis, axisOf(call));
  TensorType type = call.input(0);
  const std::int64_t ranks = ranksOf(call.node), to = graph::intAttribute(call.node, "to_axis", -1);
  if (to < 0 || to >= static_cast<std::int64_t>(type.shape.size()) || to == static_cast<std::int64_t>(axis) ||
      type.shape[static_cast<std::size_t>(to)] % ranks != 0)
    return base::badInput(fmt::format("{}: {} cannot be divided along axis {} over {} ranks", call.title(),
                                      graph::toString(type), to, ranks));
  type.shape[axis] *= ranks;
  type.shape[static_cast<std::size_t>(to)] /= ranks;
  return std::vector<TensorType>{type};
}

std::vector<Work> rankExchangeWork(const OperatorCall& call) {
  return rankCollective(call, Collective::Kind::allToAll, call.input(0).elements());
}

Status rankExchangeGradient(GradientBuilder& builder) {
  const Node& node = builder.node();
  graph::Attributes attributes = node.attributes;
  attributes["axis"] = node.attributes.at("to_axis");
  attributes["to_axis"] = node.attributes.at("axis");
  for (const char* name : {"blocks", "to_blocks"}) attributes.erase(name);
  if (node.attributes.contains("blocks")) attributes["to_blocks"] = node.attributes.at("blocks");
  if (node.attributes.contains("to_blocks")) attributes["blocks"] = node.attributes.at("to_blocks");
  return builder.addFor(0, "RankExchange", "grad_input", {builder.outputGradient(0)}, std::move(attributes));
}

std::vector<Work> rankPadWork(const OperatorCall& call) {
  const TensorType& whole = call.outputs.at(0);
  if (ranksOf(call.node) == 1) return {};
  return {{Map{MapFunction::fill, whole.elements(), 1, whole.element, false}, 1, ""}};
}

std::vector<Work> rankSliceWork(const OperatorCall& call) {
  if (ranksOf(call.node) == 1 || graph::intAttribute(call.node, "stored", 0) != 0) return {};
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

Status rankSliceGradient(GradientBuilder& builder) {
  graph::Attributes attributes = builder.node().attributes;
  const bool alone = attributes.erase("alone") > 0;
  attributes.erase("stored");
  return builder.addFor(0, alone ? "RankPad" : "RankGather", "grad_input", {builder.outputGradient(0)},
                        std::move(attributes));
}

Status gatherGradient(GradientBuilder& builder) {
  return builder.addFor(0, "RankGather", "grad_input", {builder.outputGradient(0)},
                        builder.node().attributes);
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(rank_gather) {
  const std::vector<AttributeRule> attributes{{kRanks, AttributeKind::integer},
                                              {kMeshAxis, AttributeKind::text},
                                              {"axis", AttributeKind::integer},
                                              {"blocks", AttributeKind::integer}};
  const auto with = [&](std::initializer_list<const char*> more) {
    std::vector<AttributeRule> all = attributes;
    for (const char* name : more) all.push_back({name, AttributeKind::integer});
    return all;
  };
  registry.add({.type = "RankSlice",
                .attributes = with({"alone", "stored"}),
                .infer = inferRankSlice,
                .work = rankSliceWork,
                .gradient = rankSliceGradient});
  registry.add({.type = "RankPad", .attributes = attributes, .infer = inferRankGather, .work = rankPadWork});
  registry.add({.type = "RankScatterSum",
                .attributes = attributes,
                .infer = inferRankSlice,
                .work = rankScatterWork,
                .gradient = gatherGradient});
  registry.add({.type = "RankGather",
                .attributes = with({"sums"}),
                .infer = inferRankGather,
                .work = rankGatherWork,
                .gradient = rankGatherGradient});
  registry.add({.type = "RankExchange",
                .attributes = with({"to_axis", "to_blocks"}),
                .infer = inferRankExchange,
                .work = rankExchangeWork,
                .gradient = rankExchangeGradient});
}

}  // namespace pipescope::ops
