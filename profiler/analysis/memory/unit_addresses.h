#pragma once
// Categories at the addresses of a unit (tile).
#include <string>
#include <vector>

#include "profiler/analysis/catalog.h"
#include "profiler/analysis/memory/unit_layout.h"

namespace pipescope::analysis {

struct AddressRange {
  std::int64_t from = 0, to = 0;  ///< [from, to), in bytes from the unit's address 0
  std::string category, region;
  bool alwaysLive = false;
  bool isGap() const { return category == "gap"; }
};

/// The ranges of one unit, ascending and without holes; empty if the unit holds nothing. They come from the
/// recorded bytes of each category in each region. Within a region, the always-live categories come first, in
/// the order of the rows, then everything that shares addresses because it is not always live, then the gap
/// that nothing can use. Interleaved memory begins with what is not always live, because that needs it. The
/// ranges are those of the layout of the variables if that takes as many addresses as are recorded.
Result<std::vector<AddressRange>> unitAddresses(const model::ProfileSource& source,
                                                model::ExecutableId executable, model::MemorySpaceId space,
                                                std::int64_t unit, const UnitLayout& layout);

/// The ranges of the layout; what is not always live is one category, "variable", or "shared_addresses" if
/// the addresses are recorded.
std::vector<AddressRange> addressRanges(const UnitLayout& layout);

}  // namespace pipescope::analysis
