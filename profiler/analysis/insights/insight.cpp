#include "profiler/analysis/insights/insight.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <numeric>
#include <sstream>

namespace pipescope::analysis {
namespace {

/// Replaces the advice to make a change that gains nothing, as its replay says.
void adviseAgainst(RankedInsight& ranked) {
  if (!ranked.gain.gain || *ranked.gain.gain >= kWorthwhileGain || ranked.insight.severe) return;
  if (ranked.insight.freesMemory) {
    ranked.insight.advice +=
        fmt::format(" In a replay, the change makes the run {}.", fasterText(*ranked.gain.gain));
    return;
  }
  ranked.insight.advice =
      ranked.insight.alternatives.size() > 1
          ? fmt::format("None of the changes that were replayed helps: the best makes the run {}.",
                        fasterText(*ranked.gain.gain))
          : fmt::format("The change that was replayed does not help: it makes the run {}.",
                        fasterText(*ranked.gain.gain));
}

/// Predicts the gain of each alternative and takes the best of those that are possible.
RankedInsight rankedOf(Insight insight, const InsightRule& rule, const PredictGain& predict) {
  RankedInsight ranked{std::move(insight), &rule, {}, {}};
  if (ranked.insight.alternatives.empty()) {
    ranked.gain.reason = ranked.insight.noAlternative.empty() ? "There is no single option to replay."
                                                              : ranked.insight.noAlternative;
    return ranked;
  }
  for (const InsightChanges& changes : ranked.insight.alternatives) {
    PredictedGain gain = predict(changes);
    const bool better = gain.gain && (!ranked.gain.gain || *gain.gain > *ranked.gain.gain);
    const bool known = !ranked.changes.empty();
    if (gain.possible ? known && !better : known || !ranked.gain.reason.empty()) continue;
    if (gain.possible) ranked.changes = changes;
    ranked.gain = std::move(gain);
  }
  adviseAgainst(ranked);
  return ranked;
}

/// The gain by which a finding is sorted: none if there is nothing to gain, or nobody knows.
double sortedGain(const RankedInsight& ranked) {
  const double gain = ranked.gain.gain.value_or(0);
  return gain >= kWorthwhileGain ? gain : ranked.insight.bound;
}

/// Findings with a lower number come first.
int orderOf(const RankedInsight& ranked) {
  if (ranked.insight.severe) return 0;
  if (sortedGain(ranked) >= kWorthwhileGain) return 1;
  return ranked.gain.gain ? 3 : 2;
}

}  // namespace

std::string InsightInput::option(const std::string& key) const {
  const auto at = options.find(key);
  return at == options.end() ? std::string() : at->second;
}

Bytes InsightInput::alwaysLiveOf(const DeviceMemory& device,
                                 std::initializer_list<const char*> categories) const {
  Bytes bytes;
  const auto space = alwaysLive.find(device.space);
  if (space == alwaysLive.end()) return bytes;
  for (const char* category : categories) {
    const auto found = space->second.find(category);
    if (found != space->second.end()) bytes += found->second;
  }
  return bytes;
}

std::string InsightInput::deviceName(std::int64_t index) const {
  const auto at = std::ranges::find(execution.devices, index, &DeviceExecution::index);
  return at == execution.devices.end() ? std::string() : at->name;
}

RecordedShare largestShare(const AcceleratorReport& recorded, Ticks AcceleratorTimes::*part) {
  RecordedShare largest;
  for (const AcceleratorTimes& device : recorded.devices) {
    const auto span = static_cast<double>((device.end - device.start).count);
    const double share = span > 0 ? static_cast<double>((device.*part).count) / span : 0;
    if (largest.device == nullptr || share > largest.share) largest = {&device, share};
  }
  return largest;
}

Insight recordedFinding(double share, model::DeviceId device, std::string section) {
  Insight found;
  found.figure = found.share = share;
  found.page = std::move(section);
  found.device = static_cast<int>(device.value);
  found.noAlternative = "A replay cannot change what a trace holds of kernels.";
  found.bound = share / (1 - std::min(share, 0.99));
  return found;
}

const InsightRule* InsightRegistry::find(std::string_view name) const {
  const auto at = std::ranges::find(rules_, name, &InsightRule::name);
  return at == rules_.end() ? nullptr : &*at;
}

void InsightRegistry::sort() {
  std::ranges::sort(rules_, {}, &InsightRule::name);
}

const InsightRegistry& insightRegistry() {
  static const InsightRegistry all = [] {
    InsightRegistry registry;
    registerInsights(registry);
    registry.sort();
    return registry;
  }();
  return all;
}

std::vector<RankedInsight> findInsights(const InsightInput& input, const PredictGain& predict) {
  std::vector<RankedInsight> all;
  for (const InsightRule& rule : insightRegistry().all()) {
    for (Insight& insight : rule.find(input, rule)) {
      insight.rule = rule.name;
      all.push_back(rankedOf(std::move(insight), rule, predict));
    }
  }
  const auto isSaidByAnother = [&all](const RankedInsight& one) {
    return one.insight.yields && std::ranges::any_of(all, [&one](const RankedInsight& other) {
             return !other.insight.yields && other.changes == one.changes;
           });
  };
  std::vector<RankedInsight> said;
  std::ranges::copy_if(all, std::back_inserter(said), std::not_fn(isSaidByAnother));
  all = std::move(said);
  std::ranges::stable_sort(all, [](const RankedInsight& a, const RankedInsight& b) {
    if (orderOf(a) != orderOf(b)) return orderOf(a) < orderOf(b);
    if (sortedGain(a) != sortedGain(b)) return sortedGain(a) > sortedGain(b);
    if (a.gain.gain && b.gain.gain) return *a.gain.gain > *b.gain.gain;
    return a.insight.share > b.insight.share;
  });
  return all;
}

std::string fasterText(double gain) {
  if (std::fabs(gain) < kLeastShownGain) return "as fast as before";
  return fmt::format("{:.1f} % {}", 100 * std::fabs(gain), gain > 0 ? "faster" : "slower");
}

std::string insightPercent(double fraction) {
  return fmt::format("{:.3g} %", 100 * fraction);
}

std::string insightStage(const StageReport& stage, bool begins) {
  const std::string name = fmt::format("{}tage {}", begins ? 'S' : 's', stage.index);
  return stage.deviceName.empty() ? name : fmt::format("{} ({})", name, stage.deviceName);
}

std::vector<InsightChanges> movesFrom(const InsightInput& input, const StageReport& stage) {
  std::istringstream words(stage.blocks);
  std::vector<std::string> blocks;
  for (std::string block; words >> block;) blocks.push_back(block);
  std::vector<InsightChanges> moves;
  if (blocks.size() < 2) return moves;
  if (stage.index > 0) moves.push_back({{"move", fmt::format("{}:{}", blocks.front(), stage.index - 1)}});
  if (stage.index + 1 < static_cast<int>(input.stages.stages.size()))
    moves.push_back({{"move", fmt::format("{}:{}", blocks.back(), stage.index + 1)}});
  return moves;
}

std::optional<InsightChanges> microBatchTimes(const InsightInput& input, int numerator, int denominator) {
  const std::int64_t size = input.executable.microBatchSize, count = input.executable.microBatches;
  if (size <= 0 || size * numerator % denominator != 0) return std::nullopt;
  InsightChanges changes{
      {input.table() + "micro_batch_size", fmt::format("{}", size * numerator / denominator)}};
  if (!input.training()) return changes;
  if (count * denominator % numerator != 0 || count * denominator < numerator) return std::nullopt;
  changes.push_back({"training.gradient_accumulation", fmt::format("{}", count * denominator / numerator)});
  return changes;
}

const DeviceMemory* fullestMemory(const Memory& memory) {
  const auto fullest = std::ranges::max_element(memory.devices, {}, fillOf);
  return fullest == memory.devices.end() ? nullptr : &*fullest;
}

double fillOf(const DeviceMemory& memory) {
  if (memory.bytesPerUnit.count <= 0) return 0;
  return static_cast<double>(memory.maxUnitIncludingGaps.count) /
         static_cast<double>(memory.bytesPerUnit.count);
}

}  // namespace pipescope::analysis
