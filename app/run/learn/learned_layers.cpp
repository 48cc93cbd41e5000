#include "app/run/learn/learned_layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "app/run/request/fixed/fixed_layers.h"
#include "profiler/replay/learned_passes.h"

namespace pipescope::app {
namespace {

using replay::LearnedModel;
using replay::middleOf;

/// Always-held bytes and bytes per micro-batch of a layer of each stage.
struct LayerMemory {
  std::vector<double> holds, stash;
};

/// Layers that a place holds, and layers × micro-batches that are under way there at the peak of its memory.
struct PlaceLoad {
  double layers = 0, underWay = 0;
};

std::vector<PlaceLoad> loadsOf(const LearnedModel& learned, const LearnedLayers& layers) {
  std::vector<PlaceLoad> loads(static_cast<std::size_t>(learned.places));
  for (std::size_t s = 0; s < learned.stages.size(); ++s) {
    PlaceLoad& load = loads[static_cast<std::size_t>(learned.stages[s].place)];
    load.layers += layers.ofStage[s];
    load.underWay += static_cast<double>(learned.stages[s].inFlight) * layers.ofStage[s];
  }
  return loads;
}

/// Bytes that a layer keeps for a micro-batch: the median slope (Theil and Sen) of memory over micro-batches
/// under way, per layer, between places. The first and the last place have an embedding or a loss besides, so
/// they count only where there are fewer than two others.
double stashOfLayer(const LearnedModel& learned, const std::vector<PlaceLoad>& loads) {
  const std::size_t places = loads.size(), first = places >= 4 ? 1 : 0;
  std::vector<double> slopes;
  for (std::size_t a = first; a + first < places; ++a) {
    for (std::size_t b = a + 1; b + first < places; ++b) {
      if (!learned.memory[a] || !learned.memory[b]) continue;
      const auto each = [&](std::size_t p) {
        return static_cast<double>(*learned.memory[p]) / loads[p].layers;
      };
      const double more = loads[b].underWay / loads[b].layers - loads[a].underWay / loads[a].layers;
      if (std::abs(more) > 0) slopes.push_back((each(b) - each(a)) / more);
    }
  }
  return std::max(0.0, middleOf(slopes));
}

LayerMemory memoryOf(const LearnedModel& learned, const LearnedLayers& layers) {
  const std::vector<PlaceLoad> loads = loadsOf(learned, layers);
  const double common = learned.stash ? 0 : stashOfLayer(learned, loads);
  LayerMemory memory;
  std::vector<double> stashed(loads.size(), 0);
  for (std::size_t s = 0; s < learned.stages.size(); ++s) {
    const auto p = static_cast<std::size_t>(learned.stages[s].place);
    double each = learned.stash ? static_cast<double>((*learned.stash)[s]) / layers.ofStage[s] : common;
    if (learned.memory[p] && loads[p].underWay > 0)
      each = std::min(each, static_cast<double>(*learned.memory[p]) / loads[p].underWay);
    memory.stash.push_back(each);
    stashed[p] += each * static_cast<double>(learned.stages[s].inFlight) * layers.ofStage[s];
  }
  for (const replay::LearnedStage& stage : learned.stages) {
    const auto p = static_cast<std::size_t>(stage.place);
    const double held = static_cast<double>(learned.memory[p].value_or(0)) - stashed[p];
    memory.holds.push_back(learned.memory[p] ? std::max(0.0, held) / loads[p].layers : 0);
  }
  return memory;
}

/// Takes from a value what it has more than `usual`, and returns it for all layers.
double takeMore(double& value, double usual, int layers) {
  constexpr double kSame = 1.02;  // Smaller differences are those of devices.
  if (usual <= 0 || value <= kSame * usual) return 0;
  const double more = (value - usual) * layers;
  value = usual;
  return more;
}

}  // namespace

base::Result<LearnedLayers> layersOfStages(const LearnedModel& learned,
                                           const std::vector<std::int64_t>& given) {
  const std::size_t stages = learned.stages.size();
  if (given.empty()) return LearnedLayers{std::vector<int>(stages, kUnknownLayers), false};
  LearnedLayers layers{{}, true};
  if (given.size() == 1 && stages > 1) {
    if (given.front() < 1 || given.front() % static_cast<std::int64_t>(stages) != 0)
      return base::badInput(fmt::format(
          "{} layers are not the same number on each of {} stages: name the number of each stage, "
          "as --layers {}.",
          given.front(), stages, stages == 2 ? "3,5" : "3,5,…"));
    layers.ofStage.assign(stages, static_cast<int>(given.front() / static_cast<std::int64_t>(stages)));
    return layers;
  }
  if (given.size() != stages)
    return base::badInput(
        fmt::format("The profile has {} stages, but --layers names {} numbers: name one for each stage, or "
                    "one for all of them together.",
                    stages, given.size()));
  for (const std::int64_t count : given) {
    constexpr std::int64_t kMost = 100'000;
    if (count < 1 || count > kMost)
      return base::badInput("Each stage has 1 to 100,000 layers: change --layers.");
    layers.ofStage.push_back(static_cast<int>(count));
  }
  return layers;
}

std::vector<CostLayer> costLayers(const LearnedModel& learned, const LearnedLayers& layers) {
  const LayerMemory memory = memoryOf(learned, layers);
  const std::size_t stages = learned.stages.size();
  std::vector<CostLayer> all;
  std::vector<double> forward, backward, holds;  // of layers between the first and the last stage
  for (std::size_t s = 0; s < stages; ++s) {
    const replay::LearnedStage& stage = learned.stages[s];
    const int count = layers.ofStage[s];
    CostLayer layer{static_cast<int>(s), count};
    layer.forward = stage.forward.usual / count;
    layer.recompute = stage.recompute.usual / count;
    layer.backward = stage.backward.usual / count;
    layer.weight = stage.weight / count;
    layer.update = stage.update / count;
    layer.sends = s + 1 < stages ? stage.sends : s > 0 ? learned.stages[s - 1].sends : 0;
    layer.holds = std::llround(memory.holds[s]);
    layer.stash = std::llround(memory.stash[s]);
    all.push_back(layer);
    if (s == 0 || s + 1 == stages) continue;
    forward.push_back(layer.forward);
    backward.push_back(layer.backward);
    holds.push_back(memory.holds[s]);
  }
  constexpr std::size_t kFewest = 2;
  if (forward.size() < kFewest) return all;
  for (const bool last : {true, false}) {
    CostLayer& layer = last ? all.back() : all.front();
    CostLayer more{layer.stage, 1, false};
    double held = static_cast<double>(layer.holds);
    more.forward = takeMore(layer.forward, middleOf(forward), layer.count);
    more.backward = takeMore(layer.backward, middleOf(backward), layer.count);
    more.holds = std::llround(takeMore(held, middleOf(holds), layer.count));
    layer.holds = std::llround(held);
    layer.weight = std::min(layer.weight, layer.backward);
    more.sends = layer.sends;
    if (more.forward > 0 || more.backward > 0 || more.holds > 0)
      all.insert(last ? all.end() : all.begin(), more);
  }
  return all;
}

bool isEqualSplit(const std::vector<int>& split) {
  const std::int64_t sum = std::accumulate(split.begin(), split.end(), std::int64_t{0});
  const std::vector<std::int64_t> equal = equalSplit(sum, static_cast<std::int64_t>(split.size()));
  return std::ranges::equal(split, equal);
}

}  // namespace pipescope::app
