// RankIndex is the number of the rank within its group, from 0: a scalar of type int64.
#include "engine/ops/core/common_work.h"
#include "engine/ops/ranks/ranks.h"

namespace pipescope::ops {
namespace {

Result<std::vector<TensorType>> inferRankIndex(const OperatorCall& call) {
  PIPESCOPE_TRY(checkRanks(call));
  return std::vector<TensorType>{{ElementType::int64, {}}};
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(rank_index) {
  registry.add({.type = "RankIndex",
                .attributes = {{kRanks, AttributeKind::integer}, {kMeshAxis, AttributeKind::text}},
                .minInputs = 0,
                .maxInputs = 0,
                .infer = inferRankIndex,
                .work = noWork});
}

}  // namespace pipescope::ops
