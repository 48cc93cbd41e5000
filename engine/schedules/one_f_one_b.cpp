// 1F1B, also called PipeDream-flush (Narayanan et al. 2021). The device of the s-th of p chunks starts with w
// = min(p − 1 − s, m) forward passes, then alternates m − w forward and backward passes, then finishes with w
// backward passes. It stashes min(p − s, m) micro-batches.
#include <algorithm>

#include "engine/schedules/chunks.h"

namespace pipescope::schedules {
namespace {

base::Result<Order> make1f1b(const Shape& shape) {
  const std::vector<Chunk> chunks = chunksOf(shape);
  PIPESCOPE_TRY(requireOwnDevices(chunks, "1f1b"));
  const int p = static_cast<int>(chunks.size()), m = shape.microBatches;
  TaskList tasks(shape);
  for (int s = 0; s < p; ++s) {
    const Chunk& chunk = chunks[static_cast<std::size_t>(s)];
    const int warmUp = shape.training ? std::min(p - 1 - s, m) : m;
    for (int k = 0; k < warmUp; ++k) tasks.forward(chunk, k);
    for (int k = warmUp; k < m; ++k) {
      tasks.forward(chunk, k);
      tasks.backward(chunk, k - warmUp);
    }
    for (int k = m - warmUp; shape.training && k < m; ++k) tasks.backward(chunk, k);
  }
  return tasks.take();
}

}  // namespace

PIPESCOPE_REGISTER_SCHEDULE(one_f_one_b) {
  registry.add({.name = "1f1b",
                .doc = "1F1B (PipeDream-flush): a backward as soon as it can, so that little is stashed",
                .make = make1f1b});
}

}  // namespace pipescope::schedules
