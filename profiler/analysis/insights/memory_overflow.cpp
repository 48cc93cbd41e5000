// The model does not fit.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "profiler/analysis/insights/insight.h"
#include "profiler/base/byte_text.h"

namespace pipescope::analysis {
namespace {

/// Bytes of a device that more stages divide: weights and what belongs to them. The activations of a stage
/// hardly get fewer, because a longer pipeline holds more micro-batches. If no variable is known, it is all.
double dividedBytes(const InsightInput& input, const DeviceMemory& device) {
  if (!input.alwaysLive.contains(device.space)) return static_cast<double>(device.total.count);
  const Bytes bytes = input.alwaysLiveOf(device, {"weight", "gradient", "accumulator", "optimizer_state"});
  return static_cast<double>(std::min(bytes, device.total).count);
}

/// True if the system has so many times the devices that the executable uses.
bool hasDevicesFor(const InsightInput& input, double times) {
  return static_cast<double>(input.target.devices) >=
         times * static_cast<double>(std::max<std::int64_t>(1, input.target.devicesUsed));
}

/// Says how many stages the model needs, if it needs more than it has. All devices are of one kind.
std::string roomAdvice(const InsightInput& input, const DeviceMemory& fullest) {
  const std::string usual =
      "Use more stages or smaller micro-batches; pipescope plan finds a split that fits if there is one.";
  double divided = 0, stages = 0;
  for (const DeviceMemory& device : input.memory.devices) {
    if (device.spaceKind != fullest.spaceKind) continue;
    divided += dividedBytes(input, device);
    ++stages;
  }
  const double room = static_cast<double>(fullest.units) * static_cast<double>(fullest.bytesPerUnit.count);
  if (room <= 0) return usual;
  const auto text = [](double bytes) { return base::byteText(std::llround(bytes)); };
  const double rest = static_cast<double>(fullest.total.count) - dividedBytes(input, fullest);
  if (rest >= room)
    return fmt::format(
        "{} holds {} beside its weights and their states, which more stages hardly make less, and has room "
        "for "
        "{}: recompute activations, use smaller micro-batches, or divide operators (tensor, sequence or "
        "context "
        "parallel); pipescope plan finds a combination that fits if there is one.",
        fullest.name, text(rest), text(room));
  // A split that fills every device to the brim does not exist, so this is a lower bound.
  const double least = std::ceil(divided / (room - rest));
  if (least <= stages) return usual;
  return fmt::format(
      "All stages together hold {} of weights and their states, and a device has room for {} beside the "
      "rest, so "
      "the model needs {:.0f} or more stages instead of {:.0f}: run it with --stages {:.0f}{}, or with "
      "smaller "
      "micro-batches; pipescope plan finds a split that fits if there is one.",
      text(divided), text(room - rest), least, stages, least,
      hasDevicesFor(input, least / stages) ? "" : " on a system that has devices for them");
}

std::string settingsText(const InsightChanges& changes) {
  std::string text;
  for (const InsightChange& change : changes)
    text += fmt::format("{}{} = {}", text.empty() ? "" : " and ", change.key, change.value);
  return text;
}

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
  found.advice = roomAdvice(input, *fullest);
  for (const auto& [key, tried] : input.triedForMemory) {
    // A long list is recorded without its middle, so that it cannot be set.
    if (tried.effect != "everything fits" || tried.value.find("…") != std::string::npos) continue;
    if (found.alternatives.empty())
      found.advice += fmt::format(" Compiled with {} = {}{}: {}.", key, tried.value,
                                  input.searchedStages > 0 && key != "execution.stages"
                                      ? " and the stages as they are, which a run divides anew"
                                      : "",
                                  tried.effect);
    found.alternatives.push_back({{key, tried.value}});
  }
  for (const TriedTogether& tried : input.triedTogether) {
    if (tried.effect != "everything fits") continue;
    if (found.alternatives.empty())
      found.advice += fmt::format(" Compiled with {}: {}.", settingsText(tried.changes), tried.effect);
    found.alternatives.push_back(tried.changes);
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
