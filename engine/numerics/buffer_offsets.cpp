#include "engine/numerics/buffer_offsets.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "engine/numerics/aligned_buffer.h"

namespace pipescope::numerics {
namespace {

bool meet(const Lifetime& a, const Lifetime& b) {
  return a.first <= b.last && b.first <= a.last;
}

/// Finds the offset of buffer `own` among the buffers in `placed`, which are sorted by offset.
std::int64_t bestOffset(std::span<const Lifetime> lifetimes, const std::vector<std::int64_t>& offsets,
                        const std::vector<std::size_t>& placed, std::size_t own) {
  const std::int64_t need = alignedBytes(lifetimes[own].bytes);
  std::int64_t end = 0, best = -1, smallest = std::numeric_limits<std::int64_t>::max();
  for (const std::size_t other : placed) {
    if (!meet(lifetimes[own], lifetimes[other])) continue;
    const std::int64_t gap = offsets[other] - end;
    if (gap >= need && gap < smallest) {
      smallest = gap;
      best = end;
    }
    end = std::max(end, offsets[other] + alignedBytes(lifetimes[other].bytes));
  }
  return best >= 0 ? best : end;
}

}  // namespace

BufferOffsets placeBuffers(std::span<const Lifetime> lifetimes) {
  BufferOffsets plan;
  plan.offsets.assign(lifetimes.size(), 0);
  std::vector<std::size_t> order(lifetimes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(
      order, [&](std::size_t a, std::size_t b) { return lifetimes[a].bytes > lifetimes[b].bytes; });
  std::vector<std::size_t> placed;
  for (const std::size_t own : order) {
    plan.offsets[own] = bestOffset(lifetimes, plan.offsets, placed, own);
    plan.bytes = std::max(plan.bytes, plan.offsets[own] + alignedBytes(lifetimes[own].bytes));
    const auto at = std::ranges::upper_bound(placed, plan.offsets[own], {},
                                             [&](std::size_t i) { return plan.offsets[i]; });
    placed.insert(at, own);
  }
  return plan;
}

}  // namespace pipescope::numerics
