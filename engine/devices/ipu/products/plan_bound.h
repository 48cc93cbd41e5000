#pragma once
// Lower bounds for splits that are only partly decided. With them the planner skips splits that cannot win.
#include <array>
#include <map>
#include <mutex>

#include "engine/devices/ipu/products/plan_cost.h"

namespace pipescope::devices::ipu {

/// Remembers the least overhead of a vertex's pass beyond its multiply-adds, which is the same for many forms
/// of many products. It belongs to a chip, and several threads may use it.
class PassOverheads {
 public:
  /// Everything but the positions that the cycles of a pass depend on.
  using Key = std::array<std::int64_t, 9 + 2 * kMaximumDims>;
  static Key keyOf(const ConvForm& form);

  template <class Compute>
  double get(const Key& key, const Compute& compute) {
    {
      const std::lock_guard lock(mutex_);
      if (const auto found = known_.find(key); found != known_.end()) return found->second;
    }
    const double overhead = compute();
    const std::lock_guard lock(mutex_);
    return known_.emplace(key, overhead).first->second;
  }

 private:
  std::mutex mutex_;
  std::map<Key, double> known_;
};

class PlanBound {
 public:
  struct Least {
    std::int64_t cycles = 0, memory = 0;
  };

  /// `cache` belongs to the form and `overheads` to the chip; both must outlive the bound.
  PlanBound(const Chip& chip, const ConvForm& form, WorkerCache& cache, PassOverheads& overheads);

  /// A lower bound for every split that keeps the parts of `split`, whose largest share is `tile`, and cuts
  /// the axes that are still whole into at most `parts` further ones. When the cycles reach `limit`, the
  /// bound stops there and reports no memory.
  Least furtherSplit(const ConvSplit& split, const ConvTile& tile, std::int64_t parts,
                     std::int64_t limit) const;

  /// An upper bound for the cycles of the vertex's first pass over one group of input channels, one group of
  /// output channels and one kernel element, and for each further pass.
  struct Passes {
    std::int64_t first = 0, further = 0;
  };
  /// The same with the output positions of the tile.
  Passes passCycles(const ConvTile& tile) const;

  /// The same if only input channels and kernel remain to be cut. `pass` is passCycles of the tile.
  Least furtherSums(const ConvSplit& split, const ConvTile& tile, std::int64_t parts, Passes pass,
                    std::int64_t limit) const;

 private:
  std::int64_t peakCycles(const ConvTile& tile, std::int64_t parts) const;
  std::int64_t startOf(const ConvSplit& split) const;
  /// Passes of the vertex over the tile: one for each group of input channels, group of output channels and
  /// kernel element.
  std::int64_t passes(const ConvTile& tile) const;
  /// The least cycles that a pass takes beyond its multiply-adds at the peak. `steps` is the number of
  /// outputs for each active one.
  double leastPerPass(std::int64_t steps) const;

  const Chip& chip_;
  const ConvForm& form_;
  WorkerCache& cache_;
  double perMultiplyAdd_ = 0;     ///< cycles of one multiply-add of grains at the vertex's peak
  double perPass_ = 0;            ///< cycles of a pass beyond its multiply-adds
  ArrangementBound arrangement_;  ///< bound for operands that are spread over all tiles
};

}  // namespace pipescope::devices::ipu
