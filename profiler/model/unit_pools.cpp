#include "profiler/model/unit_pools.h"

#include <algorithm>

namespace pipescope::model {
namespace {

using Use = UnitPool::Use;

class PoolDivision {
 public:
  explicit PoolDivision(const UnitShape& shape)
      : starts_{0, shape.interleavedStart, shape.bytes},
        left_{shape.interleavedStart, shape.bytes - shape.interleavedStart, INT64_MAX / 2} {}

  /// Takes room from region `from` on.
  void take(std::int64_t bytes, UnitRegion from, Use use, std::size_t index = 0) {
    for (auto region = static_cast<std::size_t>(from); region < kUnitRegions && bytes > 0; ++region) {
      const std::int64_t here = std::min(bytes, left_[region]);
      if (here <= 0) continue;
      pools_.push_back({use, index, static_cast<UnitRegion>(region), starts_[region] + used_[region], here});
      left_[region] -= here;
      used_[region] += here;
      bytes -= here;
    }
  }
  std::int64_t used(UnitRegion region) const { return used_[static_cast<std::size_t>(region)]; }
  std::int64_t left(UnitRegion region) const { return left_[static_cast<std::size_t>(region)]; }
  std::vector<UnitPool> pools() && { return std::move(pools_); }

 private:
  std::int64_t starts_[kUnitRegions], left_[kUnitRegions], used_[kUnitRegions] = {0, 0, 0};
  std::vector<UnitPool> pools_;
};

}  // namespace

const char* nameOf(UnitRegion region) {
  constexpr const char* kNames[kUnitRegions] = {"non_interleaved", "interleaved", "overflowed"};
  return kNames[static_cast<std::size_t>(region)];
}

std::vector<UnitPool> unitPools(const UnitShape& shape, const UnitDemand& demand) {
  constexpr UnitRegion kLow = UnitRegion::nonInterleaved, kHigh = UnitRegion::interleaved;
  PoolDivision division(shape);
  division.take(demand.interleaved, kHigh, Use::interleaved);
  for (std::size_t i = 0; i < demand.alwaysLive.size(); ++i)
    division.take(demand.alwaysLive[i], kLow, Use::alwaysLive, i);
  const std::int64_t others = demand.all - demand.interleaved - demand.ownElement;
  division.take(std::max<std::int64_t>(0, others), kLow, Use::anywhere);
  const std::int64_t beyond = division.used(kLow) % shape.elementBytes;
  const std::int64_t skip = beyond == 0 ? 0 : shape.elementBytes - beyond;
  if (demand.ownElement > 0 && skip + demand.ownElement <= division.left(kLow))
    division.take(skip, kLow, Use::gap);
  division.take(demand.ownElement, kLow, Use::ownElement);
  if (division.used(kHigh) > 0) division.take(division.left(kLow), kLow, Use::gap);
  return std::move(division).pools();
}

}  // namespace pipescope::model
