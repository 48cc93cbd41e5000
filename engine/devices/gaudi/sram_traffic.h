#pragma once
// Decides which operands come from SRAM and which from HBM. SRAM keeps what was used last. Larger tensors
// pass from one kernel to the next in slices, so the next kernel starts before the first has ended.
#include <cstdint>
#include <vector>

#include "engine/compile/plan.h"
#include "engine/devices/gaudi/kernel_list.h"

namespace pipescope::devices::gaudi {

/// The kernel from which another one takes an operand slice by slice.
struct Feed {
  std::size_t kernel = 0;
  std::int64_t slices = 1;  ///< 1: the whole operand has to be there
};

struct Traffic {
  std::int64_t read = 0, written = 0;   ///< bytes of HBM
  std::int64_t moved = 0;               ///< bytes of all operands and results, between SRAM and engine
  std::int64_t loaded = 0, stored = 0;  ///< parts of `moved`
  /// Slices, among the bytes loaded and stored, that the kernels of a bundle hand to each other. (C:
  /// cache_requirements_analyzer.cpp keeps them in the part of SRAM beside the engines if both kernels are
  /// divided among the groups in the same way. X: they always are; otherwise steps would be 1 % longer.)
  std::int64_t handedIn = 0, handedOut = 0;
  std::vector<Feed> feeds;
  std::size_t bundleBegin = 0;      ///< the first kernel of its bundle, or itself
  std::vector<std::size_t> inSram;  ///< results that never lie in HBM
};

/// The traffic of each kernel. A recipe begins with an empty SRAM.
std::vector<Traffic> trafficOf(const Card& card, const compile::StagePlan& stage, const StageUses& uses,
                               const KernelList& list);

}  // namespace pipescope::devices::gaudi
