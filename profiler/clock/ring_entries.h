#pragma once
// Counts the entries that the stash of each stage really needs.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "profiler/clock/order.h"

namespace pipescope::clock {

/// True if the place runs each backward task of the stage right after the forward task of its micro-batch.
inline bool returnsAtOnce(const Order& order, int stage) {
  bool returns = false;
  for (const std::vector<Task>& tasks : order.places) {
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      if (tasks[i].stage != stage || tasks[i].pass != model::Pass::forward) continue;
      const Task* next = i + 1 < tasks.size() ? &tasks[i + 1] : nullptr;
      if (next == nullptr || next->stage != stage || next->microBatch != tasks[i].microBatch ||
          next->pass != model::Pass::backward)
        return false;
      returns = true;
    }
  }
  return returns;
}

/// Order::stashEntries, but 0 for a stage that returns at once. Such a stage stashes nothing for its backward
/// pass, even if its weight gradients come later; Order::weightEntries covers these.
inline std::vector<std::int64_t> ringEntries(const Order& order) {
  std::vector<std::int64_t> entries = order.stashEntries;
  for (std::size_t s = 0; s < entries.size(); ++s)
    if (entries[s] > 0 && returnsAtOnce(order, static_cast<int>(s))) entries[s] = 0;
  return entries;
}

}  // namespace pipescope::clock
