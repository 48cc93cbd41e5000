// The zero-bubble schedules H1 and H2 (Qi et al. 2023). The backward pass is split into input gradients (B),
// which the previous stage waits for, and weight gradients (W), which nobody waits for and which fill the
// gaps.
//   H1: the order of 1F1B. W(j) of the s-th chunk follows B(j + s); the rest comes at the end. Every device
//       holds min(p, m) micro-batches.
//   H2: 2(p − 1 − s) forward passes of warm-up; W(j) follows B(j + 2s). A device has no gaps if F = B = W,
//   but
//       each device starts later than the one before it. An isolated flush is shown. A device holds
//       min(2p − 1, m) micro-batches.
#include <algorithm>

#include "engine/schedules/chunks.h"

namespace pipescope::schedules {
namespace {

base::Result<Order> makeZeroBubble(const Shape& shape, const char* name, int factor) {
  const std::vector<Chunk> chunks = chunksOf(shape);
  PIPESCOPE_TRY(requireOwnDevices(chunks, name));
  const int p = static_cast<int>(chunks.size()), m = shape.microBatches;
  TaskList tasks(shape);
  for (int s = 0; s < p; ++s) {
    const Chunk& chunk = chunks[static_cast<std::size_t>(s)];
    const int warmUp = shape.training ? std::min(factor * (p - 1 - s), m) : m, delay = factor * s;
    const auto backward = [&](int k) {
      tasks.backward(chunk, k);
      if (k >= delay) tasks.weight(chunk, k - delay);
    };
    for (int k = 0; k < warmUp; ++k) tasks.forward(chunk, k);
    for (int k = warmUp; k < m; ++k) {
      tasks.forward(chunk, k);
      backward(k - warmUp);
    }
    for (int k = m - warmUp; shape.training && k < m; ++k) backward(k);
    for (int k = std::max(0, m - delay); shape.training && k < m; ++k) tasks.weight(chunk, k);
  }
  return tasks.take();
}

}  // namespace

PIPESCOPE_REGISTER_SCHEDULE(zb_h1) {
  registry.add(
      {.name = "zb-h1",
       .doc =
           "Zero bubble H1: weight gradients fill the gaps of 1F1B, with as much stashed as its first stage",
       .make = [](const Shape& shape) { return makeZeroBubble(shape, "zb-h1", 1); },
       .splitBackward = true});
}

PIPESCOPE_REGISTER_SCHEDULE(zb_h2) {
  registry.add(
      {.name = "zb-h2",
       .doc = "Zero bubble H2: no gaps within a device, for twice the stash; shown as an isolated flush",
       .make = [](const Shape& shape) { return makeZeroBubble(shape, "zb-h2", 2); },
       .splitBackward = true});
}

}  // namespace pipescope::schedules
