#include "app/run/request/fixed/fixed_layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "engine/schedules/schedule.h"

namespace pipescope::app {
namespace {

using Stage = compile::FixedRun::Stage;

/// One layer, or one of those that stay with it.
struct FixedLayer {
  Stage costs;
  bool counted = true;
};

std::vector<FixedLayer> layersOf(const config::Configuration& c) {
  std::vector<FixedLayer> layers;
  for (const config::Settings& entry : c.tables("fixed.layers"))
    layers.insert(layers.end(), static_cast<std::size_t>(entry.integer("count")),
                  {fixedCosts(entry), entry.boolean("counted")});
  return layers;
}

void addCosts(const Stage& layer, Stage& stage) {
  stage.forward += layer.forward;
  stage.recompute += layer.recompute;
  stage.backward += layer.backward;
  stage.weight += layer.weight < 0 ? layer.backward / 2 : layer.weight;
  stage.update += layer.update;
  stage.sends = layer.sends;
  stage.holds += layer.holds;
  stage.stash += layer.stash;
}

base::Result<std::vector<std::int64_t>> splitOf(const config::Configuration& c, std::int64_t layers,
                                                std::int64_t stages) {
  const std::vector<std::int64_t>& given = c.integers("fixed.split");
  if (stages > layers)
    return base::badInput(
        fmt::format("[[fixed.layers]] has {} layers that count, but there are {} stages: set fixed.places or "
                    "execution.chunks smaller.",
                    layers, stages));
  if (given.empty()) return equalSplit(layers, stages);
  const std::int64_t sum = std::accumulate(given.begin(), given.end(), std::int64_t{0});
  if (static_cast<std::int64_t>(given.size()) != stages || sum != layers)
    return base::badInput(fmt::format(
        "fixed.split divides {} layers among {} stages, but there are {} layers and {} stages: give each "
        "stage its number of layers, or leave it empty for equal numbers (--set fixed.split=[]).",
        sum, given.size(), layers, stages));
  return given;
}

}  // namespace

std::vector<std::int64_t> equalSplit(std::int64_t layers, std::int64_t stages) {
  std::vector<std::int64_t> split;
  for (std::int64_t s = 0; s < stages; ++s) split.push_back(layers * (s + 1) / stages - layers * s / stages);
  return split;
}

Stage fixedCosts(const config::Settings& entry) {
  return {entry.real("forward"), entry.real("recompute"), entry.real("backward"), entry.real("update"),
          entry.real("weight"),  entry.integer("sends"),  entry.integer("holds"), entry.integer("stash")};
}

base::Result<std::vector<Stage>> stagesOfLayers(const config::Configuration& c, const std::string& schedule) {
  const std::vector<FixedLayer> layers = layersOf(c);
  if (!c.tables("fixed.stages").empty())
    return base::badInput(
        "[[fixed.stages]] and [[fixed.layers]] both state the costs of the pipeline: leave one out.");
  const std::int64_t places = c.integer("fixed.places");
  if (places < 1)
    return base::badInput(
        "[[fixed.layers]] needs the number of devices to divide the layers among: set fixed.places.");
  PIPESCOPE_ASSIGN(const schedules::ScheduleDefinition* definition, schedules::findSchedule(schedule));
  PIPESCOPE_ASSIGN(const int chunks,
                   schedules::chunksPerDevice(*definition, static_cast<int>(c.integer("execution.chunks"))));
  const std::int64_t counted =
      std::count_if(layers.begin(), layers.end(), [](const FixedLayer& layer) { return layer.counted; });
  PIPESCOPE_ASSIGN(const std::vector<std::int64_t> split,
                   splitOf(c, counted, std::max<std::int64_t>(1, places * chunks / definition->pipes)));
  std::vector<Stage> stages(split.size());
  for (Stage& stage : stages) stage.weight = 0;
  std::size_t stage = 0;
  std::int64_t held = 0;
  for (const FixedLayer& layer : layers) {
    while (layer.counted && held == split[stage]) {
      ++stage;
      held = 0;
    }
    held += layer.counted ? 1 : 0;
    addCosts(layer.costs, stages[stage]);
  }
  return stages;
}

}  // namespace pipescope::app
