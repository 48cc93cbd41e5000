#pragma once
#include <cstdint>

#include "profiler/import/recognise/recorded_pass.h"

namespace pipescope::importing {

/// Gives chunks of the model to the passes of interleaved schedules whose trace states none, and returns the
/// number of these passes. Stages are places of ranks in the pipeline before and after it.
///
/// - If each rank computes each micro-batch of a step v times, all forward passes before the first backward
/// pass,
///   the k-th forward pass of a micro-batch is of chunk k, and its k-th backward pass of chunk v − 1 − k.
///   A step of which the trace holds a part only gives no chunks; its passes lose their stage and
///   micro-batch. More than half of the steps must be whole.
/// - If micro-batches are counted, the messages tell: with n forward passes, a rank in the middle of the
/// pipeline
///   receives 2n messages, but those at its ends 2n − m for m micro-batches, so that v = n ÷ m. Megatron's
///   order (groups of as many micro-batches as there are ranks) then gives chunk and micro-batch of each
///   pass.
std::int64_t inferChunks(RecordedEvents& events);

}  // namespace pipescope::importing
