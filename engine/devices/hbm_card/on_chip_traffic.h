#pragma once
// Decides which operands come from on-chip memory and which from HBM. On-chip memory keeps what was used
// last. Larger tensors pass from one kernel to the next in slices, so the next kernel starts before the
// first has ended.
#include <cstdint>
#include <vector>

#include "engine/compile/ir.h"
#include "engine/devices/hbm_card/kernel_list.h"

namespace pipescope::devices::hbm_card {

class CardModel;

/// A kernel whose result another kernel takes as an operand, one slice after the other.
struct Feed {
  std::size_t kernel = 0;
  std::int64_t slices = 1;  ///< 1: the whole operand has to be there
};

struct Traffic {
  std::int64_t read = 0, written = 0;  ///< bytes of HBM
  std::int64_t moved = 0;  ///< bytes of all operands and results, between on-chip memory and engine
  std::int64_t loaded = 0, stored = 0;  ///< parts of `moved`
  /// Slices, among the bytes loaded and stored, that the kernels of a bundle hand to each other. (C:
  /// cache_requirements_analyzer.cpp keeps them in the part of SRAM of a Gaudi3 beside the engines if
  /// both kernels are divided among the groups in the same way. X: they always are; otherwise steps would
  /// be 1 % longer.)
  std::int64_t handedIn = 0, handedOut = 0;
  std::vector<Feed> feeds;
  std::size_t bundleBegin = 0;      ///< the first kernel of its bundle, or itself
  std::vector<std::size_t> onChip;  ///< results that never lie in HBM
};

/// Returns the traffic of each kernel. On-chip memory is empty when a pass begins.
std::vector<Traffic> trafficOf(const CardModel& model, const compile::StageIr& stage, const StageUses& uses,
                               const KernelList& list);

/// Bytes that a kernel moves ÷ bytes that it uses. The part of them that lies in HBM is spread alike.
double spreadOf(const EngineKernel& kernel, const Traffic& traffic);

}  // namespace pipescope::devices::hbm_card
