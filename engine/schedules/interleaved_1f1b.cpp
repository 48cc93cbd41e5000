// Interleaved 1F1B (Narayanan et al. 2021, Megatron-LM). Device s of p holds the v chunks s, s + p, … of the
// model. Groups of p micro-batches go through each chunk in turn, so m must be a multiple of p. The k-th
// forward pass of a device belongs to chunk (k mod pv) div p and micro-batch (k div pv)·p + k mod p. Backward
// passes take the chunks in reverse. A device starts with min(2(p − s − 1) + (v − 1)p, mv) forward passes,
// then alternates forward and backward passes, then finishes the remaining backward passes.
#include <fmt/format.h>

#include <algorithm>

#include "engine/schedules/chunks.h"

namespace pipescope::schedules {
namespace {

/// Returns the number of devices p. Error: chunk c is not on the device of chunk c mod p, or the first p
/// chunks share a device.
base::Result<int> devicesOf(const std::vector<Chunk>& chunks) {
  int p = 0;
  const int count = static_cast<int>(chunks.size());
  const auto place = [&](int c) { return chunks[static_cast<std::size_t>(c)].place; };
  while (p < count && std::none_of(chunks.begin(), chunks.begin() + p,
                                   [&](const Chunk& chunk) { return chunk.place == place(p); }))
    ++p;
  bool wrapped = count % p == 0;
  for (int c = p; c < count; ++c) wrapped = wrapped && place(c) == place(c % p);
  if (p >= 2 && wrapped && count >= 2 * p) return p;
  return base::badInput(fmt::format(
      "The interleaved-1f1b schedule needs at least 2 devices with the same number of chunks, at "
      "least 2, laid out in rounds (devices 0, 1, 0, 1 for four stages on two); the {} stages here "
      "have another layout from stage {} on. Set execution.chunks, or the devices of [[stages]]; with one "
      "chunk on each device use 1f1b.",
      chunks.back().stages.back() + 1,
      chunks[static_cast<std::size_t>(std::min(p, count - 1))].stages.front()));
}

base::Result<Order> makeInterleaved1f1b(const Shape& shape) {
  const std::vector<Chunk> chunks = chunksOf(shape);
  PIPESCOPE_ASSIGN(const int p, devicesOf(chunks));
  const int v = static_cast<int>(chunks.size()) / p, m = shape.microBatches;
  if (m % p != 0) {
    return base::badInput(
        fmt::format("The interleaved-1f1b schedule over {} devices needs a number of micro-batches that is a "
                    "multiple of {}, but it is {}: use {}, or the 1f1b schedule.",
                    p, p, m, (m / p + 1) * p));
  }
  TaskList tasks(shape);
  for (int s = 0; s < p; ++s) {
    const auto microBatch = [&](int k) { return k / (p * v) * p + k % p; };
    const auto forward = [&](int k) {
      const int chunk = k % (p * v) / p;
      tasks.forward(chunks[static_cast<std::size_t>(chunk * p + s)], microBatch(k));
    };
    const auto backward = [&](int k) {
      const int chunk = v - 1 - k % (p * v) / p;
      tasks.backward(chunks[static_cast<std::size_t>(chunk * p + s)], microBatch(k));
    };
    const int all = m * v, warmUp = shape.training ? std::min(2 * (p - s - 1) + (v - 1) * p, all) : all;
    for (int k = 0; k < warmUp; ++k) forward(k);
    for (int k = warmUp; k < all; ++k) {
      forward(k);
      backward(k - warmUp);
    }
    for (int k = all - warmUp; shape.training && k < all; ++k) backward(k);
  }
  return tasks.take();
}

}  // namespace

PIPESCOPE_REGISTER_SCHEDULE(interleaved_1f1b) {
  registry.add({.name = "interleaved-1f1b",
                .doc = "1F1B over several chunks of the model on each device: a smaller bubble, more copies",
                .make = makeInterleaved1f1b,
                .layout = Layout::wrapped});
}

}  // namespace pipescope::schedules
