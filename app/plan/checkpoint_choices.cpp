#include "app/plan/checkpoint_choices.h"

#include <map>

#include "engine/compile/stage_division.h"
#include "engine/config/configuration.h"
#include "engine/graph/graph.h"

namespace pipescope::app {

std::vector<std::string> checkpointChoices(const graph::Graph& forward) {
  std::map<std::string, std::string> last;  // operator of each block
  for (const graph::Node& node : forward.nodes())
    if (node.pass == model::Pass::forward) last[node.block] = node.name;
  std::vector<std::string> blocks = compile::blocksOf(forward);
  if (blocks.size() < 2) return {};
  blocks.pop_back();  // results of the last block are used at once
  std::vector<std::string> choices;
  for (const std::size_t step : {std::size_t{1}, std::size_t{2}}) {
    std::vector<std::string> names;
    for (std::size_t b = step - 1; b < blocks.size(); b += step) names.push_back(last.at(blocks[b]));
    if (names.empty()) continue;
    std::string text = config::toToml(config::Value(names));
    if (choices.empty() || choices.back() != text) choices.push_back(std::move(text));
  }
  return choices;
}

}  // namespace pipescope::app
