#pragma once
// Decides when the kernels of a pass run. Each engine runs its kernels in the order of the list as soon as
// their operands are there. Engines share HBM. They work side by side, or, where a card runs one stream of
// kernels (CardFigures::oneStream), one kernel after another; collectives and copies to and from the host
// run beside them in both cases.
#include <vector>

#include "engine/devices/hbm_card/kernel_list.h"
#include "engine/devices/hbm_card/on_chip_traffic.h"

namespace pipescope::devices::hbm_card {

struct PlacedKernel {
  double start = 0, end = 0;  ///< seconds from the recipe's start
  double sliceStart = 0,
         sliceEnd = 0;  ///< the slices of operands that copy engines bring; equal: there are none
};

/// Appends kernels [placed.size(), end) of the list to `placed`. They begin at `start` or later, when all
/// earlier ones have ended. A kernel takes as long as CardModel::costOf says for it alone, and longer where
/// on-chip memory or HBM are busy with earlier kernels. It starts CardFigures::kernelOverhead after its
/// operands are there; in one stream also after the kernel before it has ended, and not before the host has
/// issued it (CardModel::issueSeconds), which goes on where the host reads a result only when that is there.
/// On-chip memory holds the slices of two kernels, so a kernel also waits for all kernels but the one before
/// it, except for collectives and copies to and from the host. If operands come in slices from an earlier
/// kernel, the first slice is enough to start; the kernel ends at least one of its own slices after that
/// kernel's end. Nothing waits for kernels that move bytes beside the computing of another micro-batch
/// (EngineKernel::beside).
void placeKernels(const CardModel& model, const KernelList& list, const std::vector<Traffic>& traffic,
                  std::size_t end, double start, std::vector<PlacedKernel>& placed);

}  // namespace pipescope::devices::hbm_card
