#pragma once
// Which operands come from SRAM and which from HBM. SRAM keeps what was touched last; what is larger passes
// from one kernel to the next in slices, so that the next one starts before the first has ended.
#include <cstdint>
#include <vector>

#include "engine/compile/plan.h"
#include "engine/devices/gaudi/kernel_list.h"

namespace pipescope::devices::gaudi {

/// A kernel that another one takes its operand from, slice by slice.
struct Feed {
  std::size_t kernel = 0;
  std::int64_t slices = 1;  ///< 1: all of it has to be there
};

struct Traffic {
  std::int64_t read = 0, written = 0;   ///< bytes of HBM
  std::int64_t moved = 0;               ///< bytes between SRAM and engine: every operand and result
  std::int64_t loaded = 0, stored = 0;  ///< of moved
  std::vector<Feed> feeds;
  std::vector<std::size_t> inSram;  ///< results that never lie in HBM
};

/// By kernel. A recipe begins with nothing in SRAM.
std::vector<Traffic> trafficOf(const Card& card, const compile::StagePlan& stage, const StageUses& uses,
                               const KernelList& list);

}  // namespace pipescope::devices::gaudi
