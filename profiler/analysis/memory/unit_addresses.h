#pragma once
// Where on a unit (tile) what lies. A profile records how many bytes of each category lie in each region of a
// unit, not the address of each variable. Within a region, the always-live categories come first, in the
// order of the rows, then what shares addresses because it is not always live, then the gap that nothing can
// use. Interleaved memory begins with what is not always live, because that needs it; what spilled over from
// below follows.
#include <string>
#include <vector>

#include "profiler/analysis/catalog.h"

namespace pipescope::analysis {

struct AddressRange {
  std::int64_t from = 0, to = 0;  ///< [from, to), in bytes from the unit's address 0
  std::string category, region;
  bool alwaysLive = false;
  bool isGap() const { return category == "gap"; }
};

/// The ranges of one unit, ascending and without holes; empty where the unit holds nothing.
Result<std::vector<AddressRange>> unitAddresses(const model::ProfileSource& source,
                                                model::ExecutableId executable, model::MemorySpaceId space,
                                                std::int64_t unit);

}  // namespace pipescope::analysis
