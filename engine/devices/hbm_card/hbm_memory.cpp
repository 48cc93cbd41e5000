#include "engine/devices/hbm_card/hbm_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "engine/devices/hbm_card/occupied_addresses.h"

namespace pipescope::devices::hbm_card {

std::int32_t HbmMemory::addStep(std::string name, std::string program, model::Pass pass) {
  memory_.steps.push_back({std::move(name), std::move(program), pass, {}, {}});
  return steps() - 1;
}

std::size_t HbmMemory::add(LoweredVariable variable) {
  const std::int64_t lines = (variable.bytes.count + card_.cacheLine - 1) / card_.cacheLine;
  variable.bytes = variable.maxUnitBytes = Bytes(lines * card_.cacheLine);
  memory_.variables.push_back(std::move(variable));
  return memory_.variables.size() - 1;
}

void HbmMemory::addLife(std::size_t variable, std::int32_t first, std::int32_t end) {
  if (first < end) memory_.variables[variable].lives.push_back({first, end});
}

void HbmMemory::replay() {
  std::vector<std::int64_t> change(memory_.steps.size() + 1);
  for (const LoweredVariable& variable : memory_.variables) {
    for (const LifeSteps life : variable.lives) {
      change[static_cast<std::size_t>(life.first)] += variable.bytes.count;
      change[static_cast<std::size_t>(life.end)] -= variable.bytes.count;
    }
  }
  std::int64_t now = 0;
  for (std::size_t step = 0; step < memory_.steps.size(); ++step) {
    now += change[step];
    memory_.steps[step].notAlwaysLive = memory_.steps[step].maxUnitNotAlwaysLive = Bytes(now);
  }
}

std::int64_t HbmMemory::placeWorkspace(std::int64_t first) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < memory_.variables.size(); ++i) {
    if (!memory_.variables[i].lives.empty()) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return memory_.variables[a].bytes > memory_.variables[b].bytes;
  });
  OccupiedAddresses occupied(steps());
  std::int64_t top = 0;
  for (const std::size_t i : order) {
    LoweredVariable& variable = memory_.variables[i];
    const std::int64_t address = occupied.lowest(variable.lives, variable.bytes.count);
    occupied.take(variable.lives, address, variable.bytes.count);
    variable.units = {{0, 1, variable.bytes, first + address}};
    top = std::max(top, address + variable.bytes.count);
  }
  return top;
}

std::size_t HbmMemory::peakStep() const {
  std::size_t peak = 0;
  for (std::size_t step = 0; step < memory_.steps.size(); ++step) {
    if (memory_.steps[step].notAlwaysLive > memory_.steps[peak].notAlwaysLive) peak = step;
  }
  return peak;
}

std::vector<const LoweredVariable*> HbmMemory::heldAt(std::size_t step) const {
  const auto at = static_cast<std::int32_t>(step);
  std::vector<const LoweredVariable*> held;
  for (const LoweredVariable& variable : memory_.variables) {
    const bool live = std::any_of(variable.lives.begin(), variable.lives.end(),
                                  [&](LifeSteps life) { return life.first <= at && at < life.end; });
    if (variable.alwaysLive || live) held.push_back(&variable);
  }
  return held;
}

std::string HbmMemory::describeOverflow(const std::string& deviceName, std::int64_t needed) const {
  const auto gib = [](std::int64_t bytes) {
    return fmt::format("{:.2f} GiB", static_cast<double>(bytes) / (1 << 30));
  };
  const std::size_t peak = peakStep();
  std::vector<const LoweredVariable*> live = heldAt(peak);
  std::map<std::string, std::int64_t> byCategory;
  for (const LoweredVariable* variable : live) {
    byCategory[variable->category] += variable->bytes.count;
  }
  std::stable_sort(live.begin(), live.end(),
                   [](const auto* a, const auto* b) { return a->bytes > b->bytes; });
  std::vector<std::pair<std::int64_t, std::string>> categories;
  for (const auto& [category, bytes] : byCategory) categories.emplace_back(bytes, category);
  std::stable_sort(categories.begin(), categories.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string held, largest;
  for (const auto& [bytes, category] : categories) {
    if (bytes * 100 < needed) continue;  // Less than a hundredth is not named as a cause.
    held += fmt::format("{}{} {}", held.empty() ? "" : ", ", category, gib(bytes));
  }
  for (std::size_t i = 0; i < std::min<std::size_t>(3, live.size()); ++i)
    largest += fmt::format("{}{} ({}) {}", i == 0 ? "" : ", ", live[i]->name, live[i]->category,
                           gib(live[i]->bytes.count));
  return fmt::format(
      "{}: needs {} of HBM, but {} of {} are there for models, {} too few. Most is live in {}: {}. Largest "
      "there: {}.",
      deviceName, gib(needed), gib(card_.usableHbm()), gib(card_.hbmBytes), gib(needed - card_.usableHbm()),
      memory_.steps.empty() ? "no step" : memory_.steps[peak].name, held, largest);
}

LoweredMemory HbmMemory::finish(const std::string& deviceName) {
  replay();
  // Sums by category what is always live and what the fullest step holds besides.
  std::map<std::string, std::int64_t> always, atPeak;
  std::int64_t alwaysLive = 0, peak = 0;
  for (const LoweredVariable* variable : heldAt(peakStep())) {
    (variable->alwaysLive ? always : atPeak)[variable->category] += variable->bytes.count;
    (variable->alwaysLive ? alwaysLive : peak) += variable->bytes.count;
  }
  std::int64_t address = 0;
  for (LoweredVariable& variable : memory_.variables) {
    if (!variable.alwaysLive) continue;
    variable.units = {{0, 1, variable.bytes, address}};
    address += variable.bytes.count;
  }
  const std::int64_t workspace = placeWorkspace(address);
  const auto add = [&](const std::string& category, bool live, std::int64_t bytes) {
    if (bytes > 0) memory_.units.push_back({category, "hbm", live, 0, 1, Bytes(bytes)});
  };
  for (const auto& [category, bytes] : always) add(category, true, bytes);
  for (const auto& [category, bytes] : atPeak) add(category, false, bytes);
  add("gap", false, workspace - peak);
  if (alwaysLive + workspace > card_.usableHbm())
    memory_.overflow.push_back(describeOverflow(deviceName, alwaysLive + workspace));
  return std::move(memory_);
}

}  // namespace pipescope::devices::hbm_card
