// Random numbers. The generator of each worker gives 64 bits per instruction. (R: recalled; five cycles per
// vector, like the loops of popops' unary vertices that are not unrolled.)
#include "engine/devices/ipu/code/code_sizes.h"
#include "engine/devices/ipu/lowered_work.h"
#include "engine/ops/core/rounding.h"

namespace pipescope::devices::ipu {

using ops::ceilDiv;

base::Result<LoweredWork> lower(const ops::Random& work, const IpuLoweringContext& context) {
  PIPESCOPE_TRY(checkComputes(work.type, context));
  PIPESCOPE_TRY(checkElements("number of elements", {work.elements}, context));
  const Chip& chip = context.chip;
  LoweredWork lowered;
  const TileRuns elements = spreadEvenly(chip, work.elements, graph::sizeOf(work.type));
  const auto cycles = [&](std::int64_t n) {
    return 11 + chip.workers * (26 + 5 * ceilDiv(ceilDiv(n, chip.vectorWidth(work.type)), chip.workers));
  };
  lowered.compute(chip, "Random", transformed(elements, cycles),
                  {"poprand::Uniform", kCodeRandom, kStateSimple, 0});
  return lowered;
}

}  // namespace pipescope::devices::ipu
