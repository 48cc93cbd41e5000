#pragma once
#include <cstdint>

#include "engine/graph/graph.h"
#include "engine/ops/core/operator.h"
#include "profiler/base/result.h"

namespace pipescope::compile {

/// Returns the forward graph of training with the statistics of every batch norm taken over groups of
/// `replicas` replicas. The means of x and x² are added up over the group (ReplicaSum) in one collective, and
/// so are the sums of the backward pass (C: PopLibs, poplin/Norms.cpp). Statistics are float32, whatever the
/// type of x. The running variance is the unbiased variance of the whole group. A group of one replica
/// changes nothing.
base::Result<graph::Graph> distributeBatchNorm(graph::Graph forward, std::int64_t replicas,
                                               const ops::OperatorRegistry& registry);

}  // namespace pipescope::compile
