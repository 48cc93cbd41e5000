#include "profiler/geometry/timeline/folding.h"

namespace pipescope::geometry {

WidestIndex::WidestIndex(std::vector<std::int64_t> lengths) : lengths_(std::move(lengths)) {
  std::size_t below = lengths_.size();
  while (below > kFan) {
    const std::size_t blocks = (below + kFan - 1) / kFan;
    std::vector<std::uint32_t> level(blocks);
    for (std::size_t block = 0; block < blocks; ++block) {
      const std::size_t first = block * kFan, end = std::min(first + kFan, below);
      std::size_t best = levels_.empty() ? first : levels_.back()[first];
      for (std::size_t i = first + 1; i < end; ++i)
        best = better(best, levels_.empty() ? i : levels_.back()[i]);
      level[block] = static_cast<std::uint32_t>(best);
    }
    levels_.push_back(std::move(level));
    below = blocks;
  }
}

std::size_t WidestIndex::widest(std::size_t first, std::size_t end) const {
  std::size_t best = first;
  // Each level compares the items up to the edge of a block at both ends. The search then continues with
  // whole blocks on the next level.
  for (std::size_t level = 0; first < end; ++level) {
    const auto at = [&](std::size_t i) {
      return level == 0 ? i : static_cast<std::size_t>(levels_[level - 1][i]);
    };
    const auto take = [&](std::size_t i) {
      const std::size_t candidate = at(i);
      if (lengths_[candidate] > lengths_[best] || (lengths_[candidate] == lengths_[best] && candidate < best))
        best = candidate;
    };
    const bool top = level >= levels_.size();
    while (first < end && (top || first % kFan != 0)) take(first++);
    while (first < end && end % kFan != 0) take(--end);
    first /= kFan;
    end /= kFan;
  }
  return best;
}

}  // namespace pipescope::geometry
