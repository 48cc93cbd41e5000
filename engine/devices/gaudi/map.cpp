// Elementwise work on TPCs: each function takes a number of vector instructions for each vector.
#include <algorithm>

#include "engine/devices/core/titles.h"
#include "engine/devices/gaudi/kernel.h"
#include "engine/devices/hbm_card/map_instructions.h"

namespace pipescope::devices::gaudi {
namespace {

/// Numbers of instructions for the vector slot; those for the load slot run beside them. (C: the library of
/// the vendor's compiler, HabanaAI/tpc_llvm, clang/lib/Headers/tpclib/gaudi2.ll. It has two exponentials.
/// This is the one of the vendor's published softmax, HabanaAI/Habana_Custom_Kernel, softmax_fcd_bf16.c,
/// which computes it in float32 for bfloat16, too. Attention kernels take the exponential of bfloat16: the
/// same compiler, TPCHeaders/Gaudi/ExpBF16.h; the vendor's commands ask for it as
/// flash_attention_fast_softmax. A conversion writes both halves at once. R: the error function. X: sigmoid
/// is ½ + ½ tanh(x ÷ 2).)
constexpr hbm_card::SpecialFunctions kSpecialFunctions{.reciprocal = 15,
                                                       .divide = 24,
                                                       .sqrt = 16,
                                                       .rsqrt = 16,
                                                       .exp = 19,
                                                       .fastExp = 13,
                                                       .log = 35,
                                                       .pow = 88,
                                                       .remainder = 30,
                                                       .tanh = 12,
                                                       .sigmoid = 14,
                                                       .erf = 14,
                                                       .sin = 32,
                                                       .cos = 30,
                                                       .tan = 39,
                                                       .asin = 40,
                                                       .atan = 63,
                                                       .cast = 1};

}  // namespace

base::Result<EngineKernel> lower(const ops::Map& work, const GaudiLoweringContext& context) {
  PIPESCOPE_TRY(checkComputes(work.type, context));
  PIPESCOPE_TRY(checkElements("number of elements", {work.elements}, context));
  PIPESCOPE_TRY(checkElements("number of operands", {work.operands}, context));
  const bool isShort = graph::sizeOf(work.type) < 4;
  const hbm_card::MapInstructions row = hbm_card::instructionsOf(work, kSpecialFunctions);
  const bool halves = row.wide && isShort;
  // A vector of 16-bit elements is converted to two of float32 and back. Operands beyond the second are taken
  // in one by one.
  const auto more = static_cast<double>(std::max<std::int64_t>(0, work.operands - 2));
  EngineKernel kernel = tpcKernel(context.card, titleOf(work.function), work.elements, work.type,
                                  row.instructions * (halves ? 2 : 1) + (halves ? 2 : 0) + more);
  kernel.elementwise = true;
  return kernel;
}

}  // namespace pipescope::devices::gaudi
