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

/// Appends a range, or lengthens the last one if it is of the same kind.
void append(std::vector<AddressRange>& ranges, AddressRange range) {
  const bool continues = !ranges.empty() && ranges.back().category == range.category &&
                         ranges.back().region == range.region && ranges.back().alwaysLive == range.alwaysLive;
  if (continues) {
    ranges.back().to = range.to;
  } else {
    ranges.push_back(std::move(range));
  }
}

/// Finds ranges from recorded addresses: what is not always live is one category, which shares its addresses.
std::vector<AddressRange> rangesOfVariables(const UnitLayout& layout) {
  std::vector<AddressRange> ranges;
  std::int64_t at = 0;
  for (const PlacedVariable& variable : layout.variables) {
    const std::int64_t end = variable.address + variable.bytes.count;
    if (variable.address < 0 || end <= at) continue;
    if (variable.address > at) append(ranges, {at, variable.address, "gap", variable.region, false});
    append(ranges,
           {std::max(at, variable.address), end, variable.alwaysLive ? variable.category : "shared_addresses",
            variable.region, variable.alwaysLive});
    at = end;
  }
  return ranges;
}

}  // namespace

Result<std::vector<AddressRange>> unitAddresses(const model::ProfileSource& source,
                                                model::ExecutableId executable, model::MemorySpaceId space,
                                                std::int64_t unit, const UnitLayout& layout) {
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
  std::vector<AddressRange> laidOut = addressRanges(layout);
  return !laidOut.empty() && laidOut.back().to == at ? laidOut : ranges;
}

std::vector<AddressRange> addressRanges(const UnitLayout& layout) {
  using Use = model::UnitPool::Use;
  if (layout.pools.empty()) return rangesOfVariables(layout);
  std::vector<AddressRange> ranges;
  std::vector<model::UnitPool> pools = layout.pools;
  std::ranges::sort(pools, {}, &model::UnitPool::from);
  for (const model::UnitPool& pool : pools) {
    AddressRange range{pool.from, pool.from + pool.bytes, "variable", nameOf(pool.region), false};
    if (pool.use == Use::gap) range.category = "gap";
    if (pool.use == Use::alwaysLive) {
      range.category = layout.alwaysLive[pool.index];
      range.alwaysLive = true;
    }
    append(ranges, std::move(range));
  }
  return ranges;
}

}  // namespace pipescope::analysis
