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

constexpr UnitRegion kLow = UnitRegion::nonInterleaved, kHigh = UnitRegion::interleaved;

/// Takes room from the next memory element on, if there is so much below interleaved memory.
void takeElement(PoolDivision& division, const UnitShape& shape, std::int64_t bytes, Use use) {
  const std::int64_t beyond = division.used(kLow) % shape.elementBytes;
  const std::int64_t skip = beyond == 0 ? 0 : shape.elementBytes - beyond;
  if (bytes > 0 && skip + bytes <= division.left(kLow)) division.take(skip, kLow, Use::gap);
  division.take(bytes, kLow, use);
}

std::int64_t wideOf(const UnitDemand& demand, std::size_t i) {
  return i < demand.alwaysInterleaved.size() ? demand.alwaysInterleaved[i] : 0;
}

/// Takes room for all that needs interleaved memory.
void takeWide(PoolDivision& division, const UnitDemand& demand) {
  for (std::size_t i = 0; i < demand.alwaysLive.size(); ++i)
    division.take(wideOf(demand, i), kHigh, Use::alwaysLive, i);
  division.take(demand.interleaved, kHigh, Use::interleaved);
}

/// Takes room for all that does not need interleaved memory.
void takeOthers(PoolDivision& division, const UnitShape& shape, const UnitDemand& demand) {
  for (std::size_t i = 0; i < demand.alwaysLive.size(); ++i)
    division.take(demand.alwaysLive[i] - wideOf(demand, i), kLow, Use::alwaysLive, i);
  const std::int64_t others = demand.all - demand.interleaved - demand.ownElement - demand.anotherElement;
  division.take(std::max<std::int64_t>(0, others), kLow, Use::anywhere);
  takeElement(division, shape, demand.ownElement, Use::ownElement);
  takeElement(division, shape, demand.anotherElement, Use::anotherElement);
}

}  // namespace

const char* nameOf(UnitRegion region) {
  constexpr const char* kNames[kUnitRegions] = {"non_interleaved", "interleaved", "overflowed"};
  return kNames[static_cast<std::size_t>(region)];
}

std::vector<UnitPool> unitPools(const UnitShape& shape, const UnitDemand& demand) {
  PoolDivision division(shape);
  takeWide(division, demand);
  const std::int64_t wide = division.used(kHigh);
  takeOthers(division, shape, demand);
  // The two halves of an interleaved element hold words by turns (X: in PopLibs' benchmark results, sums
  // begin a multiple of 32 KiB behind the start of interleaved memory if operands lie there too).
  const std::int64_t element = 2 * shape.elementBytes, spilled = division.used(kHigh) - wide;
  const std::int64_t from = (std::max<std::int64_t>(0, spilled) + element - 1) / element * element;
  if (wide > 0 && spilled > 0 && from + wide <= shape.bytes - shape.interleavedStart) {
    division = PoolDivision(shape);
    takeOthers(division, shape, demand);
    division.take(from - spilled, kHigh, Use::gap);
    takeWide(division, demand);
  }
  if (division.used(kHigh) > 0) division.take(division.left(kLow), kLow, Use::gap);
  return std::move(division).pools();
}

}  // namespace pipescope::model
