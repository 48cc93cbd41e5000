// Pooling on TPCs: an instruction for each element of a window; backward also a comparison or a division.
#include "engine/devices/gaudi/kernel.h"

namespace pipescope::devices::gaudi {

base::Result<Kernel> lower(const ops::Pool& work, const LoweringContext& context) {
  PIPESCOPE_TRY(checkComputes(work.type, context));
  std::int64_t outputs = work.batch * work.channels, window = 1, inputs = outputs;
  PIPESCOPE_TRY(checkElements("number of channels", {work.batch, work.channels}, context));
  PIPESCOPE_TRY(checkElements("number of outputs", work.output, context));
  PIPESCOPE_TRY(checkElements("size of the kernel", work.kernel, context));
  PIPESCOPE_TRY(checkElements("number of positions", work.field, context));
  for (const std::int64_t extent : work.output) outputs *= extent;
  for (const std::int64_t extent : work.kernel) window *= extent;
  for (const std::int64_t extent : work.field) inputs *= extent;
  const double each = static_cast<double>(window) * (work.backward ? 2 : 1);
  Kernel kernel = tpcKernel(context.card, work.backward ? "PoolGradient" : "Pool", outputs, work.type, each);
  // Windows that overlap read the same element from SRAM again.
  const std::int64_t size = graph::sizeOf(work.type);
  kernel.sramBytes = std::max<std::int64_t>(0, outputs * window - inputs) * size;
  return kernel;
}

}  // namespace pipescope::devices::gaudi
