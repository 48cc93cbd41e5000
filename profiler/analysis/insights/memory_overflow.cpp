// The model does not fit.
#include <fmt/format.h>

#include <algorithm>

#include "profiler/analysis/insights/insight.h"

namespace pipescope::analysis {
namespace {

std::vector<Insight> findMemoryOverflow(const InsightInput& input, const InsightRule& rule) {
  const DeviceMemory* fullest = fullestMemory(input.memory);
  if (fullest == nullptr || !rule.exceeds(fillOf(*fullest))) return {};
  Insight found;
  found.figure = fillOf(*fullest);
  found.severe = true;
  found.what = fmt::format("{} needs {:.4g} times the memory that it has, so no real device could run this.",
                           fullest->name, found.figure);
  found.page = "memory";
  found.device = fullest->index;
  found.advice =
      "Use more stages or smaller micro-batches; pipescope plan finds a split that fits if there is one.";
  for (const auto& [key, tried] : input.triedForMemory) {
    // A long list is recorded without its middle, so that it cannot be set.
    if (tried.effect != "everything fits" || tried.value.find("…") != std::string::npos) continue;
    if (found.alternatives.empty())
      found.advice += fmt::format(" Compiled with {} = {}: {}.", key, tried.value, tried.effect);
    found.alternatives.push_back({{key, tried.value}});
  }
  if (const auto smaller = microBatchTimes(input, 1, 2); smaller && found.alternatives.empty())
    found.alternatives = {*smaller};
  found.noAlternative =
      "The summary lists under “What would help” the options that would save memory, with how much each "
      "saves.";
  return {found};
}

}  // namespace

PIPESCOPE_REGISTER_INSIGHT(memory_overflow) {
  registry.add(
      {"memory_overflow", "address span of the fullest unit ÷ its capacity", 1, false, findMemoryOverflow});
}

}  // namespace pipescope::analysis
