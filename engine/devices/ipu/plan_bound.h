#pragma once
// Lower bounds for the cycles of splits that are only partly decided: what the planner may leave out unseen.
#include "engine/devices/ipu/plan_cost.h"

namespace pipescope::devices::ipu {

class PlanBound {
 public:
  PlanBound() = default;
  PlanBound(const Chip& chip, const ConvForm& form);

  /// Below every split into at most `parts` tiles.
  std::int64_t anySplit(std::int64_t parts, WorkerCache& cache) const { return furtherSplit(ConvSplit{}, parts, false, cache); }

  /// Below every split that has the parts of `split` and cuts axes that are still whole in it into at most `parts`
  /// further ones. `cache` belongs to the form. `resultsDone`: only input channels and kernel are still to be cut.
  std::int64_t furtherSplit(const ConvSplit& split, std::int64_t parts, bool resultsDone, WorkerCache& cache) const;

 private:
  std::int64_t computeBound(const ConvTile& tile, std::int64_t parts, bool resultsDone, WorkerCache& cache) const;

  const Chip* chip_ = nullptr;
  const ConvForm* form_ = nullptr;
  double perMultiplyAdd_ = 0;      ///< cycles of one multiply-add of grains at the vertex' peak
  std::int64_t arrangement_ = 0;   ///< when spread over all tiles
};

}  // namespace pipescope::devices::ipu
