// Moves without arithmetic. If whole cache lines stay together, a neighbouring kernel reads or writes in the
// new order (a logical operation of the graph compiler). If dual groups of a vector do, it moves these within
// its registers, as the kernel of rotary positions does. Otherwise DMA engines move line by line.
#include <algorithm>

#include "engine/devices/gaudi/kernel.h"

namespace pipescope::devices::gaudi {
namespace {

/// Bytes of a dual group, a quarter of a vector, which one instruction moves to another place of it. (C: the
/// vendor's compiler, HabanaAI/tpc_llvm, tpc-intrinsics.h: v_bf16_mov_dual_group_all_b.)
constexpr std::int64_t kDualGroupBytes = 64;

}  // namespace

base::Result<EngineKernel> lower(const ops::Rearrange& work, const GaudiLoweringContext& context) {
  PIPESCOPE_TRY(checkElements("number of elements", {work.elements}, context));
  PIPESCOPE_TRY(checkElements("length of a run", {work.runElements}, context));
  const Card& card = context.card;
  const std::int64_t size = graph::sizeOf(work.type), run = std::min(work.runElements, work.elements) * size;
  if (run >= kDualGroupBytes || work.elements * size <= card.vectorBytes * card.tpcs) {
    const double instructions = run >= card.cacheLine ? 1 : 2;
    EngineKernel kernel = tpcKernel(card, "Copy", work.elements, work.type, instructions);
    kernel.elementwise = true;
    return kernel;
  }
  EngineKernel kernel;
  kernel.engine = Engine::copy;
  kernel.name = "Transpose";
  // A line holds several runs, of which one is wanted at a time. Blocks of lines are turned in SRAM, so each
  // line comes from HBM once (X: maximum over in and out, cost model of Intel's Gaudi software).
  const auto bytes = static_cast<double>(work.elements * size);
  kernel.arithmetic = card.dmaSliceFactor * 2 * bytes / card.dmaBytesPerSecond + card.dmaLatency;
  return kernel;
}

}  // namespace pipescope::devices::gaudi
