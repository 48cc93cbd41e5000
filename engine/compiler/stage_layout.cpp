#include "engine/compiler/stage_layout.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/compile/block_pattern.h"
#include "engine/schedules/schedule.h"

namespace pipescope::compile {

std::vector<std::string> strategyNames() {
  return {"pipelined", "sharded", "serial_phased", "parallel_phased"};
}

std::string toString(Strategy strategy) {
  return strategyNames()[static_cast<std::size_t>(strategy)];
}

Strategy strategyOf(const std::string& name) {
  const std::vector<std::string> names = strategyNames();
  const auto found = std::ranges::find(names, name);
  PIPESCOPE_CHECK(found != names.end(), "there is no strategy " + name);
  return static_cast<Strategy>(found - names.begin());
}

std::string scheduleOf(const LayoutRequest& layout) {
  return layout.strategy == Strategy::pipelined ? layout.schedule : "sharded";
}

bool copiesWeights(const LayoutRequest& layout) {
  if (!layout.copiesWeights || isPhased(layout.strategy)) return false;
  const auto schedule = schedules::findSchedule(scheduleOf(layout));
  return schedule.ok() && (*schedule)->pipes == 1;
}

namespace {

/// A schedule with two pipes puts each stage on two devices.
base::Status checkPipes(const schedules::ScheduleDefinition& schedule, const std::vector<StageSpec>& stages) {
  for (std::size_t s = 0; s < stages.size(); ++s) {
    if (stages[s].place < 0 || stages[s].place == static_cast<int>(s)) continue;
    return base::badInput(
        fmt::format("The {} schedule lays out its stages itself, on a device each and once more in reverse, "
                    "but stage {} is on device {}: leave the devices of [[stages]] out.",
                    schedule.name, s, stages[s].place));
  }
  return {};
}

base::Status layOutPipeline(const LayoutRequest& layout, const graph::Graph& graph,
                            std::vector<StageSpec>& stages) {
  PIPESCOPE_ASSIGN(const schedules::ScheduleDefinition* schedule,
                   schedules::findSchedule(scheduleOf(layout)));
  if (schedule->pipes > 1) return checkPipes(*schedule, stages);
  if (std::any_of(stages.begin(), stages.end(), [](const auto& stage) { return stage.place >= 0; })) {
    if (layout.chunks == 0) return {};
    return base::badInput(
        "execution.chunks and the devices of [[stages]] both say where stages are: leave one out.");
  }
  if (stages.empty() && layout.whole) stages.push_back({blocksOf(graph), -1});
  if (stages.empty()) {
    for (const std::string& block : blocksOf(graph)) stages.push_back({{block}, -1});
  }
  PIPESCOPE_ASSIGN(const std::vector<int> devices,
                   schedules::layOut(*schedule, static_cast<int>(stages.size()), layout.chunks));
  for (std::size_t s = 0; s < stages.size(); ++s) stages[s].place = devices[s];
  return {};
}

}  // namespace

base::Result<std::vector<StageSpec>> layOutStages(const LayoutRequest& layout, const graph::Graph& graph) {
  std::vector<StageSpec> stages;
  if (!layout.layersPerStage.empty()) {
    if (!layout.stages.empty())
      return base::badInput("execution.layers_per_stage and [[stages]] exclude each other: leave one out.");
    PIPESCOPE_ASSIGN(const auto blocks, blocksByLayers(blocksOf(graph), layout.layersPerStage));
    for (const std::vector<std::string>& stage : blocks) stages.push_back({stage, -1});
  }
  for (const StageRequest& stage : layout.stages) stages.push_back({stage.blocks, stage.place});
  if (layout.splitInto > 0) {
    // The split names the blocks of all executables; inference has no blocks that hold a loss only.
    const std::vector<std::string> own = blocksOf(graph);
    for (StageSpec& stage : stages)
      std::erase_if(stage.blocks,
                    [&](const auto& block) { return std::ranges::find(own, block) == own.end(); });
  }
  if (isPhased(layout.strategy)) {
    PIPESCOPE_TRY(placePhases(layout, stages));
  } else {
    PIPESCOPE_TRY(layOutPipeline(layout, graph, stages));
  }
  return placeStages(graph, stages, copiesWeights(layout));
}

base::Result<std::vector<devices::FamilySetting>> deviceSettings(const LayoutRequest& layout,
                                                                 const std::vector<StageSpec>& stages) {
  const auto textOf = [](const devices::FamilySetting& setting) {
    return std::visit([](const auto& value) { return fmt::format("{}", value); }, setting.value);
  };
  std::vector<devices::FamilySetting> all;
  for (std::size_t s = 0; s < layout.stages.size() && s < stages.size(); ++s) {
    for (devices::FamilySetting own : layout.stages[s].settings) {
      own.device = stages[s].place;
      const auto earlier = std::ranges::find_if(
          all, [&](const auto& other) { return other.name == own.name && other.device == own.device; });
      if (earlier == all.end()) {
        all.push_back(own);
      } else if (earlier->value != own.value) {
        return base::badInput(
            fmt::format("[[stages]] gives device {} {} {} and {}: its stages share one, give them the same.",
                        own.device, own.name, textOf(*earlier), textOf(own)));
      }
    }
  }
  return all;
}

}  // namespace pipescope::compile
