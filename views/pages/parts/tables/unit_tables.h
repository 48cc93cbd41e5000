#pragma once
// The tables below the memory chart: what the selected units (tiles) hold.
#include <utility>
#include <vector>

#include "profiler/base/progress.h"
#include "profiler/sections/frame/section.h"
#include "views/pages/parts/tables/tree_model.h"
#include "views/shell/profile_session.h"

namespace pipescope::pages {

/// The selected units of a memory space; an empty list: all of them.
struct WantedUnits {
  model::MemorySpaceId space;
  std::string device;
  std::vector<std::int64_t> units;
};

struct UnitTables {
  /// The details as a tree: regions, below them categories, below those what is always live and what shares
  /// its addresses.
  TreeRows tree;
  sections::SectionTable details, variables, vertices, exchanges;
  /// Variables at the addresses of the selected unit. The table has no rows unless a single unit is selected.
  sections::SectionTable addresses;
};

/// The basis of the table of addresses of one unit, such as "IPU0 tile 5". It says how much lies where no
/// order of placing found the right kind of memory.
std::string addressBasis(const std::string& unit, bool known, base::Bytes misplaced);

/// `unitName` is what the devices call their units, such as "tile"; empty: their memory is in one piece.
base::Result<UnitTables> unitTables(const shell::ProfileSnapshot& held, model::ExecutableId executable,
                                    const std::vector<WantedUnits>& wanted, const std::string& unitName,
                                    base::Progress& progress);

}  // namespace pipescope::pages
