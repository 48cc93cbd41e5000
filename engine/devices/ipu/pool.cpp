// Pooling: rows of outputs per group of channels, spread over the tiles; the windows' inputs come by
// exchange. (Cycles: PopLibs popnn, C.)
#include <algorithm>

#include "engine/devices/ipu/code_sizes.h"
#include "engine/devices/ipu/lowered_work.h"
#include "engine/devices/ipu/rounding.h"

namespace pipescope::devices::ipu {
namespace {

struct Extent {
  std::int64_t inputs = 1, outputs = 1, window = 1;  ///< positions
};

base::Result<Extent> extentOf(const ops::Pool& work, const LoweringContext& context) {
  const std::size_t n = work.field.size();
  if (n == 0 || work.kernel.size() != n || work.output.size() != n || work.stride.size() != n) {
    return base::badInput(
        context.what +
        ": field, kernel, output and stride of a pooling must have the same number of axes, at least one.");
  }
  PIPESCOPE_TRY(checkElements("field", work.field, context));
  PIPESCOPE_TRY(checkElements("kernel", work.kernel, context));
  PIPESCOPE_TRY(checkElements("output", work.output, context));
  PIPESCOPE_TRY(checkElements("stride", work.stride, context));
  Extent extent;
  for (std::size_t i = 0; i < n; ++i) {
    extent.inputs *= work.field[i];
    extent.outputs *= work.output[i];
    extent.window *= work.kernel[i];
  }
  PIPESCOPE_TRY(checkElements("number of inputs", {extent.inputs, work.batch, work.channels}, context));
  PIPESCOPE_TRY(checkElements("number of outputs", {extent.outputs, work.batch, work.channels, extent.window},
                              context));
  return extent;
}

/// A worker goes through rows of `width` positions of one channel vector, once per window element.
std::int64_t cyclesOf(const Chip& chip, const ops::Pool& work, std::int64_t rows, std::int64_t width,
                      std::int64_t window) {
  const std::int64_t perWorker = ceilDiv(rows, chip.workers);
  const std::int64_t item = 20 + (work.backward ? 7 + 5 * width : 5 + 3 * width);
  return 11 + chip.workers * (13 * perWorker + perWorker * window * item);
}

}  // namespace

base::Result<LoweredWork> lower(const ops::Pool& work, const LoweringContext& context) {
  PIPESCOPE_TRY(checkComputes(work.type, context));
  PIPESCOPE_TRY(checkElements("batch", {work.batch}, context));
  PIPESCOPE_TRY(checkElements("channels", {work.channels}, context));
  PIPESCOPE_ASSIGN(const Extent extent, extentOf(work, context));
  const Chip& chip = context.chip;
  const std::int64_t bytes = graph::sizeOf(work.type), vector = chip.vectorWidth(work.type);
  // The gradient of a pooling is pooled back: its rows are those of the input.
  const auto& rowsOver = work.backward ? work.field : work.output;
  const std::int64_t positions = work.backward ? extent.inputs : extent.outputs;
  const std::int64_t row = rowsOver.back();
  const std::int64_t rows = work.batch * ceilDiv(work.channels, vector) * (positions / row);
  const std::int64_t pieces = std::clamp<std::int64_t>(chip.tiles / std::max<std::int64_t>(1, rows), 1, row);
  const std::int64_t width = ceilDiv(row, pieces), items = rows * ceilDiv(row, width);
  const std::int64_t window =
      work.backward ? std::max<std::int64_t>(1, ceilDiv(extent.window * extent.outputs, extent.inputs))
                    : extent.window;
  const std::int64_t tiles = std::min(chip.tiles, items), most = ceilDiv(items, tiles),
                     full = items - (most - 1) * tiles;
  LoweredWork lowered;
  const std::int64_t elements =
      work.batch * work.channels * (work.backward ? 2 * extent.outputs + extent.inputs : extent.inputs);
  const TileRuns received = {{0, tiles, ceilDiv(elements, tiles) * bytes}};
  lowered.exchange(chip, "Pool/Exchange", received, 1, row * vector * bytes);
  TileRuns cycles{{0, full, cyclesOf(chip, work, most, width, window)}};
  if (most > 1 && full < tiles)
    cycles.push_back({full, tiles - full, cyclesOf(chip, work, most - 1, width, window)});
  const std::string name = work.function + (work.backward ? "PoolGradient" : "Pool");
  const std::size_t last = lowered.compute(chip, "Pool", cycles,
                                           {"popnn::" + name + (isHalf(work.type) ? "<half>" : "<float>"),
                                            kCodePooling, kStateSimple, 12 * chip.workers});
  lowered.hold("Windows", received, 0, last + 1);
  return lowered;
}

}  // namespace pipescope::devices::ipu
