// RankRing hands tensors to the next rank of a ring and receives those of the rank before it; with the
// attribute `back` they go the other way. Rewrites put it into graphs that have gradients already
// (compile/attention/ring_attention.h), so it has none.
#include <fmt/format.h>

#include "engine/ops/ranks/ranks.h"

namespace pipescope::ops {
namespace {

Result<std::vector<TensorType>> inferRankRing(const OperatorCall& call) {
  PIPESCOPE_TRY(checkRanks(call));
  std::vector<TensorType> types;
  for (std::size_t i = 0; i < call.node.inputs.size(); ++i) {
    if (!call.has(i)) return base::badInput(fmt::format("{}: its input {} is left out", call.title(), i));
    types.push_back(call.input(i));
  }
  return types;
}

std::vector<Work> rankRingWork(const OperatorCall& call) {
  std::vector<Work> work;
  for (std::size_t i = 0; i < call.node.inputs.size(); ++i) {
    for (Work& each : rankCollective(call, Collective::Kind::ringSend, call.input(i).elements()))
      work.push_back(std::move(each));
  }
  return work;
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(rank_ring) {
  registry.add({.type = "RankRing",
                .attributes = {{kRanks, AttributeKind::integer},
                               {kMeshAxis, AttributeKind::text},
                               {"back", AttributeKind::integer}},
                .minInputs = 1,
                .maxInputs = 4,
                .maxOutputs = 4,
                .infer = inferRankRing,
                .work = rankRingWork});
}

}  // namespace pipescope::ops
