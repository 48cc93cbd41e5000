#include "engine/compile/stage_division.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "engine/compile/block_pattern.h"

namespace pipescope::compile {

std::vector<std::string> blocksOf(const graph::Graph& graph) {
  std::vector<std::string> blocks;
  std::set<std::string_view> known;
  for (const graph::Node& node : graph.nodes()) {
    if (node.pass == model::Pass::forward && known.insert(node.block).second) blocks.push_back(node.block);
  }
  return blocks;
}

std::map<std::string, int> stageOfBlocks(const std::vector<StageSpec>& stages) {
  std::map<std::string, int> stageOf;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    for (const std::string& block : stages[s].blocks) stageOf[block] = static_cast<int>(s);
  }
  return stageOf;
}

namespace {

base::Status checkBlocks(const std::vector<std::string>& blocks, const std::vector<StageSpec>& stages) {
  std::map<std::string, std::size_t> stageOf;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    if (stages[s].blocks.empty())
      return base::badInput(
          fmt::format("Stage {} has no blocks: give it some or remove its [[stages]] entry.", s));
    for (const std::string& block : stages[s].blocks) {
      if (std::find(blocks.begin(), blocks.end(), block) == blocks.end()) {
        return base::badInput(
            fmt::format("Stage {} names block \"{}\", which the model does not have; its blocks are {}.", s,
                        block, fmt::join(blocks, ", ")));
      }
      const auto [found, added] = stageOf.emplace(block, s);
      if (!added) {
        return base::badInput(
            fmt::format("Block \"{}\" is in stage {} and in stage {}: a block belongs to one stage only.",
                        block, found->second, s));
      }
    }
  }
  for (const std::string& block : blocks) {
    if (!stageOf.contains(block))
      return base::badInput(
          fmt::format("Block \"{}\" is in no stage: add it to the blocks of a [[stages]] entry.", block));
  }
  return {};
}

base::Status checkDataFlow(const graph::Graph& graph, const std::vector<StageSpec>& stages, bool copies) {
  const std::map<std::string, int> stageOf = stageOfBlocks(stages);
  std::map<graph::TensorId, const graph::Node*> userOfParameter;
  for (const graph::Node& node : graph.nodes()) {
    if (node.pass != model::Pass::forward) continue;
    const int stage = stageOf.at(node.block);
    for (const graph::TensorId input : node.inputs) {
      if (!input.valid()) continue;
      const graph::Tensor& tensor = graph.tensor(input);
      if (tensor.producer.valid()) {
        const graph::Node& producer = graph.node(tensor.producer);
        const int from = stageOf.at(producer.block);
        if (from > stage) {
          return base::badInput(
              fmt::format("{} in block \"{}\" (stage {}) needs the result of {} in block \"{}\", which is in "
                          "the later stage {}: stages must ascend along the data flow.",
                          node.name, node.block, stage, producer.name, producer.block, from));
        }
      } else if (tensor.role == graph::TensorRole::parameter && !copies) {
        const auto [user, first] = userOfParameter.emplace(input, &node);
        const int other = stageOf.at(user->second->block);
        if (!first &&
            stages[static_cast<std::size_t>(other)].place != stages[static_cast<std::size_t>(stage)].place) {
          return base::badInput(
              fmt::format("Parameter {} is used by {} in stage {} and by {} in stage {}: its users must sit "
                          "on one device. Frameworks for cards keep a copy on each device; PopART and "
                          "schedules that hold the model twice do not.",
                          tensor.name, user->second->name, other, node.name, stage));
        }
      }
    }
  }
  return {};
}

}  // namespace

namespace {

/// Replaces patterns by the blocks that they name. A pattern that names nothing stays, so that checkBlocks
/// can refuse it.
std::vector<StageSpec> expanded(const std::vector<std::string>& blocks, std::vector<StageSpec> stages) {
  for (StageSpec& stage : stages) {
    std::vector<std::string> all;
    for (const std::string& pattern : stage.blocks) {
      std::vector<std::string> named = blocksNamed(pattern, blocks);
      const bool own = named.empty() || named == std::vector<std::string>{pattern};
      if (named.empty()) named = {pattern};
      for (std::string& block : named) {
        // Patterns of one stage may overlap, but naming the same block twice without patterns is a mistake.
        if (own || std::find(all.begin(), all.end(), block) == all.end()) all.push_back(std::move(block));
      }
    }
    stage.blocks = std::move(all);
  }
  return stages;
}

}  // namespace

std::vector<TiedWeight> tiedWeights(const graph::Graph& graph, const std::vector<StageSpec>& stages) {
  const auto elsewhere = [&](const StageSpec& stage) { return stage.place != stages.front().place; };
  if (std::ranges::none_of(stages, elsewhere)) return {};
  const std::map<std::string, int> stageOf = stageOfBlocks(stages);
  std::map<graph::TensorId, std::set<int>> placesOf;
  for (const graph::Node& node : graph.nodes()) {
    if (node.pass != model::Pass::forward) continue;
    for (const graph::TensorId input : node.inputs) {
      if (input.valid() && graph.tensor(input).role == graph::TensorRole::parameter)
        placesOf[input].insert(stages[static_cast<std::size_t>(stageOf.at(node.block))].place);
    }
  }
  std::vector<TiedWeight> tied;
  for (const auto& [parameter, places] : placesOf)
    if (places.size() > 1) tied.push_back({parameter, {places.begin(), places.end()}});
  return tied;
}

base::Result<std::vector<StageSpec>> placeStages(const graph::Graph& graph,
                                                 const std::vector<StageSpec>& asked, bool copies) {
  const std::vector<std::string> blocks = blocksOf(graph);
  std::vector<StageSpec> stages = expanded(blocks, asked);
  if (stages.empty()) {
    for (const std::string& block : blocks) stages.push_back({{block}, -1});
  }
  for (std::size_t s = 0; s < stages.size(); ++s) {
    if (stages[s].place < 0) stages[s].place = static_cast<int>(s);
  }
  PIPESCOPE_TRY(checkBlocks(blocks, stages));
  PIPESCOPE_TRY(checkDataFlow(graph, stages, copies));
  return stages;
}

}  // namespace pipescope::compile
