#include "profiler/analysis/memory/unit_addresses.h"

#include <algorithm>
#include <array>

#include "profiler/base/wrapping.h"

namespace pipescope::analysis {
namespace {

constexpr std::array<std::string_view, 3> kRegionOrder = {"non_interleaved", "interleaved", "overflowed"};

std::size_t placeOfRegion(const std::string& region) {
  return static_cast<std::size_t>(std::ranges::find(kRegionOrder, region) - kRegionOrder.begin());
}

/// The place of a range among those of its region.
int placeInRegion(const AddressRange& range) {
  if (range.isGap()) return 2;
  return range.alwaysLive == (range.region == kRegionOrder[1]) ? 1 : 0;
}

}  // namespace

Result<std::vector<AddressRange>> unitAddresses(const model::ProfileSource& source,
                                                model::ExecutableId executable, model::MemorySpaceId space,
                                                std::int64_t unit) {
  PIPESCOPE_ASSIGN(const model::Rows<model::UnitMemory> rows, source.rows<model::UnitMemory>());
  std::vector<AddressRange> ranges;
  for (const model::UnitMemory& row : *rows) {
    const bool holds = row.executable == executable && row.space == space && row.bytes.count > 0 &&
                       unit >= row.firstUnit && base::wrappedDifference(unit, row.firstUnit) < row.unitCount;
    if (holds) ranges.push_back({0, row.bytes.count, row.category, row.region, row.alwaysLive});
  }
  std::ranges::stable_sort(ranges, [](const AddressRange& a, const AddressRange& b) {
    const std::size_t first = placeOfRegion(a.region), second = placeOfRegion(b.region);
    return first != second ? first < second : placeInRegion(a) < placeInRegion(b);
  });
  std::int64_t at = 0;
  for (AddressRange& range : ranges) {
    const std::int64_t bytes = range.to;
    range.from = at;
    range.to = at = base::wrappedSum(at, bytes);
  }
  return ranges;
}

}  // namespace pipescope::analysis
