#include "app/run/request/stage_choice.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/run/request/phases.h"
#include "engine/compile/block_pattern.h"
#include "engine/schedules/schedule.h"

namespace pipescope::app {

using config::Configuration;
using config::Settings;

std::string scheduleName(const Configuration& c) {
  return isPipelined(c) ? c.text("execution.schedule") : "sharded";
}

namespace {

/// With two ways through the devices each stage is on two of them.
base::Status checkPipes(const schedules::ScheduleDefinition& schedule,
                        const std::vector<compile::StageSpec>& asked) {
  for (std::size_t s = 0; s < asked.size(); ++s) {
    if (asked[s].device < 0 || asked[s].device == static_cast<int>(s)) continue;
    return base::badInput(
        fmt::format("The {} schedule lays out its stages itself, on a device each and once more in reverse, "
                    "but stage {} is on "
                    "device {}: leave the devices of [[stages]] out.",
                    schedule.name, s, asked[s].device));
  }
  return {};
}

/// Where no stage names its device, the schedule says where they are.
base::Status layOut(const Configuration& c, const graph::Graph& graph,
                    std::vector<compile::StageSpec>& asked) {
  PIPESCOPE_ASSIGN(const schedules::ScheduleDefinition* schedule, schedules::findSchedule(scheduleName(c)));
  if (schedule->pipes > 1) return checkPipes(*schedule, asked);
  const int chunks = static_cast<int>(c.integer("execution.chunks"));
  if (std::any_of(asked.begin(), asked.end(), [](const auto& stage) { return stage.device >= 0; })) {
    if (chunks == 0) return {};
    return base::badInput(
        "execution.chunks and the devices of [[stages]] both say where stages are: leave one out.");
  }
  if (asked.empty()) {
    for (const std::string& block : compile::blocksOf(graph)) asked.push_back({{block}, -1});
  }
  PIPESCOPE_ASSIGN(const std::vector<int> devices,
                   schedules::layOut(*schedule, static_cast<int>(asked.size()), chunks));
  for (std::size_t s = 0; s < asked.size(); ++s) asked[s].device = devices[s];
  return {};
}

}  // namespace

base::Result<std::vector<compile::StageSpec>> chooseStages(const Configuration& c,
                                                           const graph::Graph& graph) {
  std::vector<compile::StageSpec> asked;
  if (const auto& layers = c.integers("execution.layers_per_stage"); !layers.empty()) {
    if (!c.tables("stages").empty())
      return base::badInput("execution.layers_per_stage and [[stages]] exclude each other: leave one out.");
    PIPESCOPE_ASSIGN(const auto blocks, compile::blocksByLayers(compile::blocksOf(graph), layers));
    for (const std::vector<std::string>& stage : blocks) asked.push_back({stage, -1});
  }
  for (const Settings& stage : c.tables("stages"))
    asked.push_back({stage.texts("blocks"), static_cast<int>(stage.integer("device"))});
  if (isPhased(c)) {
    PIPESCOPE_TRY(placePhases(c, asked));
  } else {
    PIPESCOPE_TRY(layOut(c, graph, asked));
  }
  return compile::placeStages(graph, asked);
}

base::Result<std::map<int, double>> memoryProportions(const Configuration& c,
                                                      const std::vector<compile::StageSpec>& stages) {
  std::map<int, double> ofDevice;
  const std::vector<Settings>& tables = c.tables("stages");
  for (std::size_t s = 0; s < tables.size() && s < stages.size(); ++s) {
    const double own = tables[s].real("available_memory_proportion");
    if (own <= 0) continue;
    const auto [at, added] = ofDevice.emplace(stages[s].device, own);
    if (added || at->second == own) continue;
    return base::badInput(
        fmt::format("[[stages]] gives device {} available_memory_proportion {} and {}: its stages share one, "
                    "give them the same.",
                    stages[s].device, at->second, own));
  }
  return ofDevice;
}

}  // namespace pipescope::app
