// Memory is full of activations that could be computed again.
#include <fmt/format.h>

#include <algorithm>

#include "profiler/analysis/insights/insight.h"

namespace pipescope::analysis {
namespace {

/// Adds what the compiler tried, or else the recompute of pipelines: the stages but the last one then keep
/// only their inputs. A model of one stage has no such stage. Returns false if nothing was found to help.
bool addWays(const InsightInput& input, Insight& found) {
  if (input.triedForMemory.empty()) {
    if (input.stages.stages.size() > 1) found.alternatives = {{{"execution.recompute", "pipeline"}}};
    found.noAlternative =
        "A model of one stage computes again only what lies between results that execution.checkpoints "
        "names.";
    return true;
  }
  for (const char* key : {"execution.recompute", "execution.checkpoints"}) {
    const auto tried = input.triedForMemory.find(key);
    if (tried == input.triedForMemory.end()) continue;
    found.advice +=
        fmt::format(" Compiled with {} = {}: {}.", key, tried->second.value, tried->second.effect);
    found.alternatives = {{{key, tried->second.value}}};
    // A long list is recorded without its middle, so that it cannot be set.
    if (tried->second.value.find("…") != std::string::npos) found.alternatives.clear();
    return true;
  }
  return false;
}

/// Bytes of activations: what only lives for a while, and the stash. A stash may hold variables that only
/// live for a while, which count once, so that the sum is never more than what weights leave of the whole.
std::int64_t keptBytes(const InsightInput& input, const DeviceMemory& memory) {
  const Bytes weights = input.alwaysLiveOf(memory, {"weight", "optimizer_state", "accumulator"});
  const Bytes kept = memory.notAlwaysLivePeak + input.alwaysLiveOf(memory, {"stash"});
  return std::min(kept, memory.total - weights).count;
}

std::vector<Insight> findRecomputeWanted(const InsightInput& input, const InsightRule& rule) {
  constexpr double kLeastPart = 0.25;
  const DeviceMemory* fullest = fullestMemory(input.memory);
  if (!input.training() || input.executable.recompute != "none" || fullest == nullptr) return {};
  Insight found;
  found.figure = fillOf(*fullest);
  if (!rule.exceeds(found.figure)) return {};
  const std::int64_t kept = keptBytes(input, *fullest);
  if (static_cast<double>(kept) < kLeastPart * static_cast<double>(fullest->total.count)) return {};
  found.what = fmt::format(
      "The fullest unit of {} is filled to {}, and activations take {} of what the device "
      "holds.",
      fullest->name, insightPercent(found.figure),
      insightPercent(static_cast<double>(kept) / static_cast<double>(fullest->total.count)));
  found.page = "memory";
  found.freesMemory = true;
  found.device = fullest->index;
  found.advice = "Compute activations again in the backward pass instead of keeping them; this costs time.";
  if (!addWays(input, found)) return {};
  return {found};
}

}  // namespace

PIPESCOPE_REGISTER_INSIGHT(recompute_wanted) {
  registry.add({"recompute_wanted", "address span of the fullest unit ÷ its capacity", 0.95, false,
                findRecomputeWanted});
}

}  // namespace pipescope::analysis
