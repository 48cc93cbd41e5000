#pragma once
// Finds the kernels that hand slices to each other. The graph compiler puts each node into at most one
// bundle, around a product, and only the kernels of a bundle are cut into slices that follow each other
// through SRAM. A result that leaves its bundle is there as a whole or not at all. (Source:
// HabanaAI/Intel_Gaudi3_Software, sram_management/bundlizer.cpp for Gaudi,
// sram_management/pipeline_management/pipeline_bundlizer.cpp for Gaudi2, brain/bundler for Gaudi3, C. The
// switches are ENABLE_PIPELINE_MANAGEMENT in habana_global_conf.cpp and ENABLE_LAYERED_PIPELINE_BRAIN in
// brain_conf.cpp.)
#include <cstdint>
#include <vector>

#include "engine/compile/ir.h"
#include "engine/devices/gaudi/card.h"
#include "engine/devices/hbm_card/kernel_list.h"

namespace pipescope::devices::gaudi {

using hbm_card::KernelList;

/// Number of each kernel's bundle; −1 for a kernel that is in none.
std::vector<std::int32_t> bundlesOf(const Card& card, const compile::StageIr& stage, const KernelList& list);

}  // namespace pipescope::devices::gaudi
