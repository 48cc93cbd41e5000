#include "engine/plan/block_split.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "engine/compile/block_pattern.h"
#include "engine/compiler/model_compiler.h"
#include "engine/plan/contiguous_split.h"
#include "engine/plan/split_places.h"

namespace pipescope::plan {
namespace {

bool blockIsNumbered(const std::string& block) {
  return !block.empty() && block.back() >= '0' && block.back() <= '9';
}

SplitProblem blockProblem(const BlockCosts& costs, std::vector<bool> recomputes) {
  SplitProblem problem;
  problem.cost = costs.cost;
  problem.again = costs.again;
  problem.recomputes = std::move(recomputes);
  const std::size_t units = costs.blocks.size(), stages = problem.recomputes.size();
  problem.works.assign(units, true);
  problem.mayCut.assign(units, true);
  problem.exchange.assign(stages, std::vector<std::int64_t>(units, 0));
  problem.fixed.assign(stages, 0);
  return problem;
}

/// Lets stages begin with a numbered block, or with the first one that follows them.
void cutAtNumbers(const std::vector<std::string>& blocks, SplitProblem& problem) {
  for (std::size_t b = 1; b < blocks.size(); ++b)
    problem.mayCut[b] = blockIsNumbered(blocks[b]) && blockIsNumbered(blocks[b - 1]);
}

/// Finds the blocks that use the same parameter. Returns the name of one parameter.
std::string addShared(const graph::Graph& forward, const std::vector<std::string>& blocks,
                      SplitProblem& problem) {
  std::map<std::string, std::size_t> places;
  for (std::size_t b = 0; b < blocks.size(); ++b) places.emplace(blocks[b], b);
  std::map<graph::TensorId, std::set<std::size_t>> users;
  for (const graph::Node& node : forward.nodes()) {
    for (const graph::TensorId input : node.inputs) {
      if (input.valid() && forward.tensor(input).role == graph::TensorRole::parameter)
        users[input].insert(places.at(node.block));
    }
  }
  std::string first;
  std::set<std::set<std::size_t>> known;
  for (const auto& [parameter, at] : users) {
    if (at.size() < 2 || !known.insert(at).second) continue;
    if (first.empty()) first = forward.tensor(parameter).name;
    problem.together.emplace_back(at.begin(), at.end());
  }
  return first;
}

}  // namespace

base::Result<BlockSplit> splitBlocks(const compile::ModelRequest& request, const BlockCosts& costs,
                                     CutLevel level) {
  const auto stages = static_cast<std::size_t>(request.layout.splitInto);
  BlockSplit result{request, {}, {}};
  result.request.layout.splitInto = 0;
  const graph::Graph& forward = *request.executables.front().forward;
  if (costs.blocks.size() < stages) {
    return base::badInput(
        fmt::format("The model has {} blocks, which are fewer than {} stages.", costs.blocks.size(), stages));
  }
  PIPESCOPE_ASSIGN(const SplitPlaces places,
                   splitPlaces(request, compile::recomputes(request, request.layout.splitInto)));
  if (stages == 1) {
    result.request.layout.whole = true;
    std::int64_t all = 0;
    for (std::size_t b = 0; b < costs.cost.size(); ++b)
      all += costs.cost[b] + (places.recomputes.front() ? costs.again[b] : 0);
    result.stageCost = {all};
    return result;
  }
  SplitProblem problem = blockProblem(costs, places.recomputes);
  if (level == CutLevel::numberedBlocks) cutAtNumbers(costs.blocks, problem);
  std::string shared;
  if (!compile::copiesWeights(request.layout)) shared = addShared(forward, costs.blocks, problem);
  if (!places.free) problem.placeOfStage = places.placeOfStage;
  const std::optional<StageSplit> split = splitContiguously(problem);
  if (!split) {
    return base::badInput(
        shared.empty() ? fmt::format("The model cannot be split into {} stages of whole layers.", stages)
                       : fmt::format("Stages that use parameter {} must lie on one device, and with "
                                     "schedule {} they cannot.",
                                     shared, compile::scheduleOf(request.layout)));
  }
  result.stageCost = split->stageCost;
  const std::vector<int> placed = placesOfSplit(problem, split->first);
  if (placed != places.placeOfStage) result.devices = placed;
  for (std::size_t s = 0; s < stages; ++s) {
    const std::size_t end = s + 1 < stages ? split->first[s + 1] : costs.blocks.size();
    compile::StageRequest& stage = result.request.layout.stages.emplace_back();
    for (std::size_t b = split->first[s]; b < end; ++b) {
      if (compile::blocksNamed(costs.blocks[b], costs.blocks).size() != 1)
        return base::badInput(fmt::format("The name of block {} means several blocks.", costs.blocks[b]));
      stage.blocks.push_back(costs.blocks[b]);
    }
    if (!result.devices.empty()) stage.place = placed[s];
  }
  if (!result.devices.empty()) result.request.layout.chunks = 0;
  return result;
}

std::int64_t longestOfBlocks(const BlockCosts& costs, std::size_t stages, bool recomputes) {
  const std::size_t units = costs.cost.size();
  std::int64_t all = 0, longest = 0;
  const auto costOf = [&](std::size_t unit, std::size_t stage) {
    const bool again = recomputes && (stages == 1 || stage + 1 < stages);
    return costs.cost[unit] + (again ? costs.again[unit] : 0);
  };
  for (std::size_t u = 0; u < units; ++u) {
    all += costOf(u, 0);
    longest = std::max(longest, costOf(u, stages - 1));
  }
  // The stages can be filled one after another if the longest one may take so long.
  const auto suffices = [&](std::int64_t most) {
    std::size_t stage = 0;
    std::int64_t load = 0;
    for (std::size_t u = 0; u < units; ++u) {
      if (load + costOf(u, stage) > most) {
        if (++stage == stages) return false;
        load = 0;
        // A unit that only the last stage can take, which recomputes nothing. The units before it then fill
        // the other stages, if there are as many.
        if (costOf(u, stage) > most && u + 1 >= stages) stage = stages - 1;
        if (u == 0 || costOf(u, stage) > most) return false;
      }
      load += costOf(u, stage);
    }
    return true;
  };
  std::int64_t least = longest, most = std::max(all, longest);
  while (least < most) {
    const std::int64_t middle = least + (most - least) / 2;
    if (suffices(middle)) {
      most = middle;
    } else {
      least = middle + 1;
    }
  }
  return most;
}

}  // namespace pipescope::plan
