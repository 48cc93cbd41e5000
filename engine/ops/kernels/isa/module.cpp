// The source of the kernel modules, which are shared libraries. CMake compiles it once for each instruction
// set, with the flags of that set and the module's name in PIPESCOPE_KERNELS. A module exports one function
// and hides everything else.
#include "engine/ops/kernels/isa/packing.h"
#include "engine/ops/kernels/isa/products.h"
#include "engine/ops/kernels/isa/row_convolution.h"
#include "engine/ops/kernels/isa/winograd.h"

#define PIPESCOPE_TEXT_OF(name) #name
#define PIPESCOPE_NAME(name) PIPESCOPE_TEXT_OF(name)
#define PIPESCOPE_JOIN_OF(a, b) a##b
#define PIPESCOPE_JOIN(a, b) PIPESCOPE_JOIN_OF(a, b)

extern "C" __attribute__((visibility("default"))) const pipescope::kernels::KernelTable* PIPESCOPE_JOIN(
    pipescope_kernels_, PIPESCOPE_KERNELS)() {
  static constexpr pipescope::kernels::KernelTable table{PIPESCOPE_NAME(PIPESCOPE_KERNELS),
                                                         multiplyRows,
                                                         packRows,
                                                         packColumns,
                                                         transpose,
                                                         winogradInput,
                                                         winogradOutput,
                                                         winogradOutputGradient,
                                                         winogradFilters,
                                                         winogradFilterGradient,
                                                         rowFilters,
                                                         rowForward,
                                                         rowInputGradient,
                                                         rowWeightGradient};
  return &table;
}
