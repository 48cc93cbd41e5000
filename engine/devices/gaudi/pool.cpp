// Pooling on TPCs: each element of a window takes one or two instructions.
#include "engine/devices/gaudi/kernel.h"
#include "profiler/base/check.h"

namespace pipescope::devices::gaudi {
namespace {

/// Instructions for each element of a window, forward and backward. (D: a TPC adds or compares in one
/// instruction. R: the gradient also compares with the maximum, or multiplies by the share.)
struct PoolRow {
  double forward = 0, backward = 0;
};

constexpr PoolRow rowOf(ops::PoolFunction function) {
  switch (function) {
    case ops::PoolFunction::max:
    case ops::PoolFunction::average:
      return {1, 2};
  }
  PIPESCOPE_CHECK(false, "a pooling that is not in the enumeration");
}

}  // namespace

base::Result<EngineKernel> lower(const ops::Pool& work, const GaudiLoweringContext& context) {
  PIPESCOPE_TRY(checkComputes(work.type, context));
  std::int64_t outputs = work.batch * work.channels, window = 1, inputs = outputs;
  PIPESCOPE_TRY(checkElements("number of channels", {work.batch, work.channels}, context));
  PIPESCOPE_TRY(checkElements("number of outputs", work.output, context));
  PIPESCOPE_TRY(checkElements("size of the kernel", work.kernel, context));
  PIPESCOPE_TRY(checkElements("number of positions", work.field, context));
  for (const std::int64_t extent : work.output) outputs *= extent;
  for (const std::int64_t extent : work.kernel) window *= extent;
  for (const std::int64_t extent : work.field) inputs *= extent;
  const PoolRow row = rowOf(work.function);
  const double each = static_cast<double>(window) * (work.backward ? row.backward : row.forward);
  EngineKernel kernel =
      tpcKernel(context.card, work.backward ? "PoolGradient" : "Pool", outputs, work.type, each);
  // Overlapping windows read the same element from SRAM again.
  const std::int64_t size = graph::sizeOf(work.type);
  kernel.onChipBytes = std::max<std::int64_t>(0, outputs * window - inputs) * size;
  return kernel;
}

}  // namespace pipescope::devices::gaudi
