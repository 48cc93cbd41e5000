#pragma once
#include <cstdint>

#include "profiler/import/recognise/recorded_pass.h"

namespace pipescope::importing {

/// Proposes the passes of a pipeline of which the rules recognise no pass, but messages and the operators of
/// PyTorch's backward pass, or the kernels that these launch. Returns the number of proposed passes; 0 if the
/// messages form no pipeline, or do not divide its passes.
///
/// The ranks lie along the pipeline in their order. Where messages state the ranks of both sides, they may
/// form several pipelines of equal length, which are replicas. Every rank between the ends exchanges two
/// messages for each one that the ends exchange. The time between a receive and the send behind it is a pass:
/// a backward pass if it holds operators of the backward pass. The first rank computes the backward pass up
/// to its last such operator, and then the next forward pass; the last rank computes the forward pass up to
/// the first such operator, and then the backward pass. In schedules such as GPipe, the last rank has forward
/// passes between its receives, and backward passes before its sends. Micro-batches are counted within each
/// step.
std::int64_t inferPasses(RecordedEvents& events);

}  // namespace pipescope::importing
