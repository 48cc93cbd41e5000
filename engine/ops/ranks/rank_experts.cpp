// Operators that bring the rows of experts to the ranks that hold these, and back (all-to-all):
// - RankScatterExperts: rows (slots × width) and counts of all experts → the rows that the own experts get
// from
//   all ranks, expert by expert and for each expert rank by rank, and their counts. The attribute `rows` is
//   the number of slots for what arrives; those behind the last row are zeros.
// - RankGatherExperts sends them back: rows of the own experts and the counts of what the rank had sent → the
//   rows in their first order. `rows` is their number of slots.
// The attributes `experts`, `choices`, `groups` and `group_choices` say how tokens chose (ExpertChoices).
// Each is the gradient of the other. Source: GShard (arXiv 2006.16668, §3.1).
#include <fmt/format.h>

#include <algorithm>

#include "engine/ops/core/gradient_builder.h"
#include "engine/ops/ranks/ranks.h"

namespace pipescope::ops {
namespace {

Status checkExpertRows(const OperatorCall& call) {
  PIPESCOPE_TRY(checkRanks(call));
  const TensorType &rows = call.input(0), &counts = call.input(1);
  const std::int64_t slots = graph::intAttribute(call.node, "rows", 0), ranks = ranksOf(call.node);
  if (rows.shape.size() == 2 && slots >= 1 && counts.element == ElementType::int64 &&
      counts.shape.size() == 1 && counts.shape[0] % ranks == 0)
    return {};
  return base::badInput(fmt::format(
      "{}: rows {} and counts {} do not go to {} slots of {} ranks; the number of experts must divide by the "
      "ranks",
      call.title(), graph::toString(rows), graph::toString(counts), slots, ranks));
}

TensorType expertRowsOf(const OperatorCall& call) {
  return {call.input(0).element, {graph::intAttribute(call.node, "rows", 0), call.input(0).shape[1]}};
}

Result<std::vector<TensorType>> inferExpertScatter(const OperatorCall& call) {
  PIPESCOPE_TRY(checkExpertRows(call));
  return std::vector<TensorType>{expertRowsOf(call),
                                 {ElementType::int64, {call.input(1).shape[0] / ranksOf(call.node)}}};
}

Result<std::vector<TensorType>> inferExpertGather(const OperatorCall& call) {
  PIPESCOPE_TRY(checkExpertRows(call));
  return std::vector<TensorType>{expertRowsOf(call)};
}

/// The rank with the most rows decides, so the larger side counts. Rows are copied into their order.
std::vector<Work> exchangeWork(const OperatorCall& call) {
  std::vector<Work> work = rankCollective(call, Collective::Kind::allToAll,
                                          std::max(call.input(0).elements(), call.outputs.at(0).elements()));
  if (!work.empty()) {
    const auto attribute = [&](const char* name, std::int64_t otherwise) {
      return graph::intAttribute(call.node, name, otherwise);
    };
    std::get<Collective>(work.front().item).experts = {attribute("experts", 0), attribute("choices", 1),
                                                       attribute("groups", 1), attribute("group_choices", 1)};
  }
  const TensorType& rows = call.outputs.at(0);
  if (!work.empty()) work.push_back({Rearrange{rows.elements(), rows.shape[1], rows.element}, 1, "Order"});
  return work;
}

/// The gradient goes back by the counts that the rank had sent.
Status exchangeGradient(GradientBuilder& builder, const char* op) {
  graph::Attributes attributes = builder.node().attributes;
  attributes["rows"] = builder.call().input(0).shape[0];
  PIPESCOPE_ASSIGN(const std::vector<graph::TensorId> made,
                   builder.addMany(op, "grad_rows", {builder.outputGradient(0), builder.node().inputs[1]},
                                   std::move(attributes), 1));
  builder.setInputGradient(0, made[0]);
  return {};
}

Status expertScatterGradient(GradientBuilder& builder) {
  return exchangeGradient(builder, "RankGatherExperts");
}
Status expertGatherGradient(GradientBuilder& builder) {
  return exchangeGradient(builder, "RankScatterExperts");
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(rank_experts) {
  const std::vector<AttributeRule> attributes{
      {kRanks, AttributeKind::integer},         {kMeshAxis, AttributeKind::text},
      {"rows", AttributeKind::integer},         {"experts", AttributeKind::integer},
      {"choices", AttributeKind::integer},      {"groups", AttributeKind::integer},
      {"group_choices", AttributeKind::integer}};
  registry.add({.type = "RankScatterExperts",
                .attributes = attributes,
                .minInputs = 2,
                .maxInputs = 2,
                .maxOutputs = 2,
                .infer = inferExpertScatter,
                .work = exchangeWork,
                .gradient = expertScatterGradient});
  registry.add({.type = "RankGatherExperts",
                .attributes = attributes,
                .minInputs = 2,
                .maxInputs = 2,
                .infer = inferExpertGather,
                .work = exchangeWork,
                .gradient = expertGatherGradient});
}

}  // namespace pipescope::ops
