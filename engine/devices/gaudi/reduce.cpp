// Sums and extrema on TPCs. If local memory holds a row, the same kernel sums it and uses the result.
// Otherwise the result is known only when everything has been read.
#include <algorithm>
#include <cmath>

#include "engine/devices/gaudi/kernel.h"
#include "profiler/base/check.h"

namespace pipescope::devices::gaudi {
namespace {

/// Instructions that take a vector of elements into the result. (D: a TPC adds, multiplies and adds, or
/// compares in one instruction. R: the position of an extremum is kept by the same number.)
constexpr double tpcInstructions(ops::ReduceFunction function) {
  using enum ops::ReduceFunction;
  switch (function) {
    case sum:
    case mean:
    case max:
    case min:
    case product:
    case absSum:
    case squareSum:
    case argmax:
    case argmin:
      return 1;
  }
  PIPESCOPE_CHECK(false, "a reduction that is not in the enumeration");
}

/// Instructions that reduce the lanes of one vector to a single element. Most of them need the result of the
/// one before. (C: the vendor's compiler, HabanaAI/tpc_llvm, tpclib/gaudi2.ll and TPCHeaders/Gaudi:
/// v_f32_reduce_add, v_f32_reduce_max, v_f32_reduce_argmax, v_bf16_reduce_add.)
constexpr double laneInstructions(ops::ReduceFunction function, ElementType type) {
  using enum ops::ReduceFunction;
  if (function == argmax || function == argmin) return 28;
  if (graph::sizeOf(type) < 4) return 15;
  return function == max || function == min ? 10 : 16;
}

}  // namespace

base::Result<EngineKernel> lower(const ops::Reduce& work, const GaudiLoweringContext& context) {
  const Card& card = context.card;
  PIPESCOPE_TRY(checkComputes(work.type, context));
  PIPESCOPE_TRY(checkElements("number of elements", {work.outputs, work.depth}, context));
  const std::int64_t size = graph::sizeOf(work.type), rowBytes = work.depth * size;
  // Each row begins a new vector and a new cache line.
  const std::int64_t padded = (rowBytes + card.vectorBytes - 1) / card.vectorBytes * card.vectorBytes / size;
  EngineKernel kernel = tpcKernel(card, "Reduce", work.outputs * (work.contiguous ? padded : work.depth),
                                  work.type, tpcInstructions(work.function));
  if (work.contiguous) {
    const std::int64_t lines = (rowBytes + card.cacheLine - 1) / card.cacheLine;
    if (work.outputs > 1)
      kernel.spread = static_cast<double>(lines * card.cacheLine) / static_cast<double>(rowBytes);
    const double rows = std::ceil(static_cast<double>(work.outputs) / static_cast<double>(card.tpcs));
    // Four rows are in flight, which hides the latency of an instruction (C: the vendor's published softmax).
    constexpr double kRowsInFlight = 4;
    const double each = laneInstructions(work.function, work.type);
    kernel.arithmetic +=
        each * std::max(rows, std::ceil(rows / kRowsInFlight) * card.tpcLatency) / card.tpcSustainedHz;
  }
  const std::int64_t row = work.depth * static_cast<std::int64_t>(sizeof(float));
  kernel.barrier = !work.contiguous || row > card.localBytes / 2;
  return kernel;
}

}  // namespace pipescope::devices::gaudi
