// ReplicaSum gives every replica of a group of `replicas` the sum of a tensor over the group (an all-reduce
// within a micro-batch). Replicas of one process run in step there; the kernel alone is that of a group of
// one. The gradient is the same sum of the gradients.
#include <fmt/format.h>

#include "engine/ops/core/copy_kernel.h"
#include "engine/ops/core/gradient_builder.h"

namespace pipescope::ops {
namespace {

Result<std::vector<TensorType>> inferReplicaSum(const OperatorCall& call) {
  if (const std::int64_t group = graph::intAttribute(call.node, "replicas", 1); group < 1)
    return base::badInput(
        fmt::format("{}: its group is {} replicas; it must be at least 1", call.title(), group));
  if (call.input(0).element != ElementType::float32) {
    return base::badInput(
        fmt::format("{}: its input is {}; it must be float32", call.title(), graph::toString(call.input(0))));
  }
  return std::vector<TensorType>{call.input(0)};
}

std::vector<Work> replicaSumWork(const OperatorCall& call) {
  const std::int64_t group = graph::intAttribute(call.node, "replicas", 1);
  if (group == 1) return {};
  return {{Collective{.elements = call.input(0).elements(),
                      .type = call.input(0).element,
                      .group = group,
                      .ofModel = true},
           1, ""}};
}

Status replicaSumGradient(GradientBuilder& builder) {
  return builder.addFor(0, "ReplicaSum", "grad_input", {builder.outputGradient(0)},
                        builder.node().attributes);
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(replica_sum) {
  registry.add({.type = "ReplicaSum",
                .attributes = {{"replicas", AttributeKind::integer}},
                .infer = inferReplicaSum,
                .kernel = [](const OperatorCall&) -> Result<Kernel> { return copyKernel(); },
                .work = replicaSumWork,
                .gradient = replicaSumGradient,
                .inPlaceInput = 0});
}

}  // namespace pipescope::ops
