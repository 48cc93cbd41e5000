#pragma once
// Finds attention in a forward graph, for devices whose software computes it without writing its scores to
// memory.
#include <cstdint>
#include <optional>

#include "engine/graph/graph.h"
#include "engine/ops/core/operator.h"
#include "profiler/base/result.h"

namespace pipescope::compile {

struct AttentionFusion {
  std::int64_t leastKeys = 1;  ///< attention over fewer keys stays as it is
  /// The type that the factors of products are cast to; none: their own.
  std::optional<graph::ElementType> factors;
  /// The kernels leave out what a causal mask hides (causal_work.h).
  bool skipsMasked = false;
  /// With ranks along `context`: their positions are paired (CausalRanks), and keys and values go around the
  /// ranks (ring_attention.h) instead of being gathered.
  bool paired = true, ring = false;
};

/// Returns the graph with one FusedAttention in place of the two products of each attention and of all that
/// is done to the scores between them: elementwise operators (scale, mask, cast, dropout) and one softmax
/// over keys. Fused is attention over a whole sequence: at least as many queries as keys, or those of a rank
/// that gathers the keys of all positions. A single token's attention over a cache stays as it is, as in vLLM
/// and Optimum Habana. So does attention whose scores somebody else reads, or of which a mask is trained.
/// None: there is nothing to fuse. Fails with a sentence if a ring is asked for and an attention has another
/// mask than a causal one.
base::Result<std::optional<graph::Graph>> fuseAttention(const graph::Graph& forward,
                                                        const AttentionFusion& fusion,
                                                        const ops::OperatorRegistry& registry);

}  // namespace pipescope::compile
