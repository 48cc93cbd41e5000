// RankSum gives every rank the sum of a tensor over the ranks (all-reduce). All ranks go on with the same
// values, so the gradient of the sum is the gradient of each part. RankCopy is the reverse: the tensor is the
// same on all ranks, each of which uses it for its own part of the work, so the gradients of the ranks are
// added up. Source: Megatron-LM's operators g and f (arXiv 1909.08053, figure 3).
#include "engine/ops/core/common_work.h"
#include "engine/ops/core/gradient_builder.h"
#include "engine/ops/ranks/ranks.h"

namespace pipescope::ops {
namespace {

Result<std::vector<TensorType>> inferRankSum(const OperatorCall& call) {
  PIPESCOPE_TRY(checkRanks(call));
  return std::vector<TensorType>{call.input(0)};
}

std::vector<Work> rankSumWork(const OperatorCall& call) {
  return rankCollective(call, Collective::Kind::allReduce, call.input(0).elements());
}

Status rankSumGradient(GradientBuilder& builder) {
  builder.setInputGradient(0, builder.outputGradient(0));
  return {};
}

Status rankCopyGradient(GradientBuilder& builder) {
  return builder.addFor(0, "RankSum", "grad_input", {builder.outputGradient(0)}, builder.node().attributes);
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(rank_sum) {
  const std::vector<AttributeRule> attributes{{kRanks, AttributeKind::integer},
                                              {kMeshAxis, AttributeKind::text}};
  registry.add({.type = "RankSum",
                .attributes = attributes,
                .infer = inferRankSum,
                .work = rankSumWork,
                .gradient = rankSumGradient,
                .inPlaceInput = 0});
  registry.add({.type = "RankCopy",
                .attributes = attributes,
                .infer = inferRankSum,
                .work = noWork,
                .gradient = rankCopyGradient,
                .inPlaceInput = 0});
}

}  // namespace pipescope::ops
