#pragma once
// Lower bounds for splits that are only partly decided: what the planner may leave out unseen.
#include <array>
#include <map>
#include <mutex>

#include "engine/devices/ipu/plan_cost.h"

namespace pipescope::devices::ipu {

/// What a pass of a vertex takes at least beyond its multiply-adds: the same for many forms of many products.
/// Belongs to a chip; may be used from several threads.
class PassOverheads {
 public:
  /// All that a pass' cycles depend on but its positions.
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

  /// `cache` belongs to the form, `overheads` to the chip; both outlive the bound.
  PlanBound(const Chip& chip, const ConvForm& form, WorkerCache& cache, PassOverheads& overheads);

  /// Below every split that has the parts of `split`, whose largest share is `tile`, and cuts axes that are
  /// still whole in it into at most `parts` further ones. From `limit` cycles on nobody wants to know more:
  /// memory is 0 then.
  Least furtherSplit(const ConvSplit& split, const ConvTile& tile, std::int64_t parts,
                     std::int64_t limit) const;

  /// At most what the vertex takes for its first pass over one group of input channels, one of output
  /// channels and one kernel element, and for each further one.
  struct Passes {
    std::int64_t first = 0, further = 0;
  };
  /// With the tile's output positions.
  Passes passCycles(const ConvTile& tile) const;

  /// The same where only input channels and kernel are still to be cut. `pass` is passCycles of the tile.
  Least furtherSums(const ConvSplit& split, const ConvTile& tile, std::int64_t parts, Passes pass,
                    std::int64_t limit) const;

 private:
  std::int64_t peakCycles(const ConvTile& tile, std::int64_t parts) const;
  std::int64_t startOf(const ConvSplit& split) const;
  /// Passes of the vertex over the tile: one for each group of input and output channels and each kernel
  /// element.
  std::int64_t passes(const ConvTile& tile) const;
  /// The least that a pass takes beyond its multiply-adds at the peak; `steps`: outputs per active one.
  double leastPerPass(std::int64_t steps) const;

  const Chip& chip_;
  const ConvForm& form_;
  WorkerCache& cache_;
  double perMultiplyAdd_ = 0;     ///< cycles of one multiply-add of grains at the vertex' peak
  double perPass_ = 0;            ///< cycles of a pass beyond its multiply-adds
  ArrangementBound arrangement_;  ///< when spread over all tiles
};

}  // namespace pipescope::devices::ipu
