#include "engine/ops/kernels/choose.h"

extern "C" const pipescope::kernels::KernelTable* pipescope_kernels_baseline();
#ifdef PIPESCOPE_X86_KERNELS
extern "C" const pipescope::kernels::KernelTable* pipescope_kernels_avx2();
extern "C" const pipescope::kernels::KernelTable* pipescope_kernels_avx512();
#endif

namespace pipescope::kernels {

const std::vector<const KernelTable*>& usableTables() {
  static const std::vector<const KernelTable*> tables = [] {
    std::vector<const KernelTable*> usable;
#ifdef PIPESCOPE_X86_KERNELS
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
    if (avx2 && avx512) usable.push_back(pipescope_kernels_avx512());
    if (avx2) usable.push_back(pipescope_kernels_avx2());
#endif
    usable.push_back(pipescope_kernels_baseline());
    return usable;
  }();
  return tables;
}

const KernelTable& kernelTable() {
  static const KernelTable& table = *usableTables().front();
  return table;
}

}  // namespace pipescope::kernels
