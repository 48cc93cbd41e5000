// Products use memory that the model lacks.
#include <fmt/format.h>

#include <algorithm>

#include "profiler/analysis/insights/insight.h"
#include "profiler/base/number_text.h"

namespace pipescope::analysis {
namespace {

std::vector<Insight> findMemoryProportion(const InsightInput& input, const InsightRule& rule) {
  const DeviceMemory* fullest = fullestMemory(input.memory);
  const std::string key = "execution.available_memory_proportion";
  const double proportion = base::numberOf(input.option(key)).value_or(0);
  constexpr double kSmallest = 0.1;
  if (fullest == nullptr || !input.hasUnits() || fullest->fits || proportion <= kSmallest ||
      fullest->total.count <= 0)
    return {};
  Insight found;
  found.figure =
      static_cast<double>(fullest->notAlwaysLivePeak.count) / static_cast<double>(fullest->total.count);
  if (!rule.exceeds(found.figure)) return {};
  found.what = fmt::format(
      "{} is too full, and what only lives for a while takes {} of it: products may use {} of "
      "the memory for this.",
      fullest->name, insightPercent(found.figure), insightPercent(proportion));
  found.page = "memory";
  found.device = fullest->index;
  found.advice = "Let products use less memory; they become slower by it.";
  if (const auto tried = input.triedForMemory.find(key); tried != input.triedForMemory.end()) {
    found.alternatives = {{{key, tried->second.value}}};
    found.advice +=
        fmt::format(" Compiled with {} = {}: {}.", key, tried->second.value, tried->second.effect);
  } else if (!input.triedForMemory.empty()) {
    return {};  // other options, which were tried, save more
  } else {
    found.alternatives = {{{key, fmt::format("{:g}", std::max(kSmallest, proportion / 2))}}};
  }
  return {found};
}

}  // namespace

PIPESCOPE_REGISTER_INSIGHT(memory_proportion) {
  registry.add({"memory_proportion", "largest bytes that are not always live ÷ bytes of the fullest device",
                0.25, false, findMemoryProportion});
}

}  // namespace pipescope::analysis
