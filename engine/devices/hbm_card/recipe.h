#pragma once
// Decides when the kernels of a pass run. Each engine runs its kernels in the order of the recipe as soon as
// their operands are there. Engines work side by side and share HBM.
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
/// earlier ones have ended. A kernel takes as long as its engine computes, loads and stores, or as HBM
/// needs, whichever is longer. A product also pays the share Card::sliceExposure of HBM's time on top of
/// computing, because slices are never hidden perfectly (the measured HBM rates include this). A kernel
/// starts CardFigures::kernelOverhead after its operands are there. On-chip memory holds the slices of
/// two kernels, so a kernel also waits for all kernels but the one before it. If operands come in slices
/// from an earlier kernel, the first slice is enough to start; the kernel ends at least one of its own
/// slices after that kernel's end.
void placeKernels(const CardModel& model, const KernelList& list, const std::vector<Traffic>& traffic,
                  std::size_t end, double start, std::vector<PlacedKernel>& placed);

}  // namespace pipescope::devices::hbm_card
