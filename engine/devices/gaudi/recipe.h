#pragma once
// When the kernels of one pass run: each engine takes its kernels in the order of the recipe, as soon as what
// they read is there; engines work side by side and share HBM.
#include <vector>

#include "engine/devices/gaudi/kernel_list.h"
#include "engine/devices/gaudi/sram_traffic.h"

namespace pipescope::devices::gaudi {

struct PlacedKernel {
  double start = 0, end = 0;            ///< seconds from the recipe's start
  double sliceStart = 0, sliceEnd = 0;  ///< of operands that DMA brings; equal: none
};

/// Appends kernels [placed.size(), end) of the list to `placed`, from `start` on: by then all earlier ones
/// have ended. A kernel takes the longer of what its engine computes, loads and stores, and what HBM takes;
/// for a product the share Card::sliceExposure of HBM's time comes on top of computing, because slices are
/// not hidden perfectly (what HBM takes is measured with that in it). It starts Card::kernelOverhead after
/// what it reads is there. SRAM holds the slices of two kernels, so a kernel also waits for all but the one
/// before it. Where operands come by slices of a kernel before, the first slice is enough to start, and it
/// ends no earlier than a slice of its own after that one's end.
void placeKernels(const Card& card, const KernelList& list, const std::vector<Traffic>& traffic,
                  std::size_t end, double start, std::vector<PlacedKernel>& placed);

}  // namespace pipescope::devices::gaudi
