// One tile holds much more than the mean.
#include <fmt/format.h>

#include <algorithm>

#include "profiler/analysis/insights/insight.h"

namespace pipescope::analysis {
namespace {

std::vector<Insight> findWorstTile(const InsightInput& input, const InsightRule& rule) {
  constexpr double kLeastFill = 0.5;  // uneven tiles do no harm in a memory that is emptier
  Insight found;
  const DeviceMemory* worst = nullptr;
  for (const DeviceMemory& memory : input.memory.devices) {
    if (memory.units <= 1 || memory.total.count <= 0 || fillOf(memory) < kLeastFill) continue;
    const double mean = static_cast<double>(memory.total.count) / static_cast<double>(memory.units);
    const double ratio = static_cast<double>(memory.maxUnit.count) / mean;
    if (ratio <= found.figure) continue;
    found.figure = ratio;
    worst = &memory;
  }
  if (worst == nullptr || !rule.exceeds(found.figure)) return {};
  found.what = fmt::format(
      "Tile {} of {} holds {:.3g} times as much as a tile holds on average, and decides alone "
      "whether the model fits.",
      worst->worstUnit, worst->name, found.figure);
  found.page = "memory";
  found.device = worst->index;
  found.advice =
      "Look at what lies on this tile: a tensor that is not spread, or the buffers of one operation.";
  return {found};
}

}  // namespace

PIPESCOPE_REGISTER_INSIGHT(worst_tile) {
  registry.add({"worst_tile", "bytes of the fullest tile ÷ mean over tiles", 1.5, false, findWorstTile});
}

}  // namespace pipescope::analysis
