// RankMax gives every rank the element-wise largest value over the ranks. No gradient flows through it: a
// softmax over divided classes subtracts it from all scores, which changes no result.
#include "engine/ops/core/gradient_builder.h"
#include "engine/ops/ranks/ranks.h"

namespace pipescope::ops {
namespace {

Result<std::vector<TensorType>> inferRankMax(const OperatorCall& call) {
  PIPESCOPE_TRY(checkRanks(call));
  return std::vector<TensorType>{call.input(0)};
}

std::vector<Work> rankMaxWork(const OperatorCall& call) {
  return rankCollective(call, Collective::Kind::allReduce, call.input(0).elements());
}

Status rankMaxGradient(GradientBuilder&) {
  return {};
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(rank_max) {
  registry.add({.type = "RankMax",
                .attributes = {{kRanks, AttributeKind::integer}, {kMeshAxis, AttributeKind::text}},
                .infer = inferRankMax,
                .work = rankMaxWork,
                .gradient = rankMaxGradient,
                .inPlaceInput = 0});
}

}  // namespace pipescope::ops
