#pragma once
#include <cstdint>

#include "engine/graph/graph.h"
#include "engine/ops/core/operator.h"
#include "profiler/base/result.h"

namespace pipescope::compile {

/// The forward graph of training with every batch norm taken over groups of `replicas` replicas: sums of x
/// and of (x − mean)² are added up over the group (ReplicaSum), and the backward pass does the same with its
/// sums. The running variance is the unbiased one of the whole group. A group of one changes nothing.
base::Result<graph::Graph> distributeBatchNorm(const graph::Graph& forward, std::int64_t replicas,
                                               const ops::OperatorRegistry& registry);

}  // namespace pipescope::compile
