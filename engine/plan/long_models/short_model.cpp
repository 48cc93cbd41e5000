#include "engine/plan/long_models/short_model.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace pipescope::plan {

using graph::Graph;
using graph::Node;
using graph::NodeId;

namespace {

/// Layers of a run that stay at each end of a stage: the outermost one, and two with equal neighbours.
constexpr std::size_t kKept = 3;

/// A shorter run is compiled as it is.
constexpr std::size_t kLeastLayers = 16;

/// The layers of a run that are left out of the stage with the units begin … end − 1.
std::optional<LayerGap> gapOf(const LayerRun& run, std::size_t begin, std::size_t end) {
  const std::size_t from = std::max(begin, run.first), to = std::min(end, run.end());
  if (from >= to) return {};
  const std::size_t firstLayer = (from - run.first + run.size - 1) / run.size,
                    endLayer = (to - run.first) / run.size;
  if (endLayer < firstLayer + 2 * kKept + 1) return {};
  return LayerGap{run.first + (firstLayer + kKept) * run.size, run.first + (endLayer - kKept) * run.size,
                  run.size};
}

/// True for costs that only the rounding of times tells apart.
bool sameCost(std::int64_t a, std::int64_t b) {
  constexpr std::int64_t kMillion = 1'000'000;
  return std::abs(a - b) <= 2 + std::max(std::abs(a), std::abs(b)) / kMillion;
}

}  // namespace

std::vector<LayerRun> runsOf(const compile::ModelRequest& request, const std::vector<NodeId>& order) {
  const compile::ExecutableRequest& executable = request.executables.front();
  const compile::UpdateRequest& update = request.update;
  const bool namesSome = !request.recompute.checkpoints.empty() ||
                         (request.float8 && !request.float8->except.empty()) ||
                         !request.ranks.shards.empty() || !request.ranks.expertLoad.layers.empty() ||
                         !update.returnedGradients.empty() || executable.forwardOfRanks != nullptr;
  if (namesSome) return {};
  return layerRuns(*executable.forward, order, kLeastLayers);
}

std::optional<ShortModel> ShortModel::make(const Graph& forward, const std::vector<NodeId>& order,
                                           const std::vector<LayerRun>& runs,
                                           const std::vector<std::size_t>& first) {
  ShortModel model;
  for (std::size_t s = 0; s < first.size(); ++s) {
    const std::size_t end = s + 1 < first.size() ? first[s + 1] : order.size();
    for (const LayerRun& run : runs) {
      if (const std::optional<LayerGap> gap = gapOf(run, first[s], end)) model.gaps_.push_back(*gap);
    }
  }
  if (model.gaps_.empty()) return {};
  std::optional<Graph> graph = withoutLayers(forward, order, model.gaps_);
  if (!graph) return {};
  model.leftOut_.assign(order.size(), false);
  for (const LayerGap& gap : model.gaps_)
    std::fill(model.leftOut_.begin() + static_cast<std::ptrdiff_t>(gap.begin),
              model.leftOut_.begin() + static_cast<std::ptrdiff_t>(gap.end), true);
  // Nodes keep their sequence in the graph.
  std::vector<std::size_t> numbers(order.size());
  std::size_t copied = 0;
  std::vector<bool> leftOutNode(order.size());
  for (std::size_t unit = 0; unit < order.size(); ++unit)
    leftOutNode[static_cast<std::size_t>(order[unit].value)] = model.leftOut_[unit];
  for (std::size_t node = 0; node < order.size(); ++node)
    if (!leftOutNode[node]) numbers[node] = copied++;
  model.place_.assign(order.size(), 0);
  for (std::size_t unit = 0; unit < order.size(); ++unit) {
    if (model.leftOut_[unit]) continue;
    model.place_[unit] = model.order_.size();
    model.order_.emplace_back(
        static_cast<std::int64_t>(numbers[static_cast<std::size_t>(order[unit].value)]));
  }
  for (const LayerGap& gap : model.gaps_) {
    for (std::size_t unit = gap.begin; unit < gap.end; ++unit)
      model.place_[unit] = model.place_[gap.begin - gap.size + (unit - gap.begin) % gap.size];
  }
  model.forward_ = std::make_shared<const Graph>(*std::move(graph));
  return model;
}

std::optional<std::vector<std::int64_t>> ShortModel::unfold(const std::vector<std::int64_t>& values) const {
  std::vector<std::int64_t> all;
  all.reserve(place_.size());
  for (const std::size_t place : place_) all.push_back(values[place]);
  for (const LayerGap& gap : gaps_) {
    for (std::size_t unit = gap.begin - gap.size; unit < gap.begin; ++unit) {
      const std::size_t behind = unit + (gap.end - gap.begin) + gap.size;
      if (!sameCost(all[unit], all[unit - gap.size]) || !sameCost(all[unit], all[behind]) ||
          !sameCost(all[unit], all[behind + gap.size]))
        return {};
    }
  }
  return all;
}

std::optional<SplitCosts> ShortModel::unfold(const SplitCosts& costs) const {
  SplitCosts all;
  for (const auto member : {&SplitCosts::cost, &SplitCosts::forward, &SplitCosts::again,
                            &SplitCosts::activationBytes, &SplitCosts::gradientBytes}) {
    std::optional<std::vector<std::int64_t>> values = unfold(costs.*member);
    if (!values) return {};
    all.*member = *std::move(values);
  }
  return all;
}

}  // namespace pipescope::plan
