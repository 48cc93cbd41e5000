#pragma once
#include <cstdint>
#include <map>

#include "engine/graph/graph.h"
#include "engine/ops/core/operator.h"
#include "profiler/base/result.h"

namespace pipescope::compile {

struct PaddedVocabulary {
  graph::Graph graph;
  std::map<std::int64_t, std::int64_t> sizes;  ///< size of a vocabulary → size with padding
};

/// Returns the graph with vocabularies that `ranks` ranks can share: a table of embeddings whose number of
/// rows is no multiple of `ranks` grows to a multiple of 128 · ranks, and so do the scores over the same
/// vocabulary (Megatron-LM's make-vocab-size-divisible-by). The graph is for time and memory; numerics
/// computes the model as it is. Tables with fewer rows than `leastRows`, and models that state the size
/// elsewhere, stay as they are.
base::Result<PaddedVocabulary> padVocabulary(const graph::Graph& forward, std::int64_t ranks,
                                             std::int64_t leastRows, const ops::OperatorRegistry& registry);

}  // namespace pipescope::compile
