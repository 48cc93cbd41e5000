#include "engine/devices/ipu/slices.h"

#include <algorithm>

#include "engine/devices/ipu/rounding.h"

namespace pipescope::devices::ipu {

SlicePlan planSlices(const Chip& chip, std::int64_t rowElements, std::int64_t tableRows,
                     std::int64_t elementBytes) {
  SlicePlan plan;
  const std::int64_t grain = std::max<std::int64_t>(1, chip.vectorBytes / elementBytes);
  const std::int64_t grains = ceilDiv(rowElements, grain);
  plan.columns = ceilDiv(grains, std::min(grains, chip.tiles)) * grain;
  plan.columnParts = ceilDiv(rowElements, plan.columns);
  plan.tableRows =
      ceilDiv(tableRows, std::min(tableRows, std::max<std::int64_t>(1, chip.tiles / plan.columnParts)));
  plan.tableParts = ceilDiv(tableRows, plan.tableRows);
  return plan;
}

}  // namespace pipescope::devices::ipu
