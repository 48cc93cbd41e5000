#include "engine/compiler/rank_divider.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/compile/block_pattern.h"
#include "engine/compile/sharding/padded_vocabulary.h"
#include "engine/compile/sharding/rank_graph.h"
#include "engine/ops/standard_operators.h"

namespace pipescope::compile {

using base::Result;
using graph::Graph;

namespace {

/// The most that ranks may have whole of the weights that somebody wants to be divided.
constexpr double kMostWhole = 0.5;

struct WholeWeights {
  const graph::Tensor* first = nullptr;  ///< null: there are none
  std::int64_t count = 0, elements = 0;
  std::int64_t all = 0;  ///< elements of all weights with several axes
};

/// Weights that no rank shares, but for those that are to stay whole.
WholeWeights wholeWeightsOf(const Graph& graph, const GraphDivision& division) {
  const auto asked = [&](const graph::Tensor& tensor) {
    const std::vector<ShardRule>& shards = division.options.shards;
    const auto rule = std::ranges::find_if(
        shards, [&](const ShardRule& each) { return namesBlock(each.weights, tensor.name); });
    return rule != shards.end() && rule->axis == kWhole;
  };
  WholeWeights whole;
  for (const graph::Tensor& tensor : graph.tensors()) {
    if (tensor.role != graph::TensorRole::parameter || tensor.type.shape.size() < 2) continue;
    whole.all += tensor.type.elements();
    if (division.of(tensor.id) != kWhole || asked(tensor)) continue;
    if (whole.first == nullptr) whole.first = &tensor;
    whole.elements += tensor.type.elements();
    ++whole.count;
  }
  return whole;
}

/// The largest number of fewer ranks that share most of the model; 1: none was found.
std::int64_t fewerRanks(const Graph& graph, DivisionOptions options) {
  constexpr int kMostTried = 16;
  for (int tried = 0; tried < kMostTried && options.ranks > 2; ++tried) {
    --options.ranks;
    const base::Result<GraphDivision> division = divideGraph(graph, options);
    if (!division.ok()) continue;
    const WholeWeights whole = wholeWeightsOf(graph, *division);
    if (static_cast<double>(whole.elements) <= kMostWhole * static_cast<double>(whole.all))
      return options.ranks;
  }
  return 1;
}

}  // namespace

Result<Graph> RankDivider::divide(Graph forward) {
  divisions_.clear();
  if (ranks_.context > 1) {
    PIPESCOPE_ASSIGN(forward, alongContext(std::move(forward)));
  }
  if (ranks_.tensor > 1) {
    PIPESCOPE_ASSIGN(forward, amongTensorRanks(std::move(forward)));
  }
  if (ranks_.expert > 1) {
    PIPESCOPE_ASSIGN(forward, amongExperts(std::move(forward)));
  }
  if (ranks_.width() > 1) noteUndivided(forward);
  return forward;
}

Result<Graph> RankDivider::alongContext(Graph forward) {
  DivisionOptions options{.ranks = ranks_.context,
                          .axis = model::MeshAxis::context,
                          .positions = tokenPositions(forward),
                          .exchangesHeads = ranks_.exchangesHeads};
  if (options.positions == 1 && !forward.loss) {
    options.positions = 0;
    options.caches = true;
    PIPESCOPE_ASSIGN(const GraphDivision division, divideGraph(forward, options));
    return ofRank(forward, division);
  }
  if (options.positions == 0)
    return base::badInput(
        "execution.context_parallel divides the positions of tokens, but no input of the model holds whole "
        "numbers by sample and position: leave it out.");
  contextPositions_ = options.positions;
  PIPESCOPE_ASSIGN(const GraphDivision division, divideGraph(forward, options));
  return ofRank(forward, division);
}

Result<Graph> RankDivider::amongTensorRanks(Graph forward) {
  const ops::OperatorRegistry& operators = ops::standardOperators();
  const DivisionOptions options{.ranks = ranks_.tensor, .sequence = ranks_.sequence, .shards = ranks_.shards};
  PIPESCOPE_ASSIGN(PaddedVocabulary padded,
                   padVocabulary(forward, options.ranks, options.leastTableRows, operators));
  for (const auto& [size, larger] : padded.sizes) padded_[size] = larger;
  PIPESCOPE_ASSIGN(const GraphDivision division, divideGraph(padded.graph, options));
  // Ranks that divide nothing would only compute the model several times.
  if (std::ranges::all_of(division.tensors, [](DividedAxis axis) { return axis == kWhole; }))
    return base::badInput(fmt::format(
        "{} ranks cannot share this model: no weight of a product divides by {} so that what follows can "
        "work on a part of its result. Heads, widths and the vocabulary must be multiples of "
        "execution.tensor_parallel.",
        ranks_.tensor, ranks_.tensor));
  PIPESCOPE_TRY(checkWholeWeights(padded.graph, division));
  return ofRank(padded.graph, division);
}

Result<Graph> RankDivider::amongExperts(Graph forward) {
  const DivisionOptions options{
      .ranks = ranks_.expert, .axis = model::MeshAxis::expert, .expertLoad = ranks_.expertLoad};
  PIPESCOPE_ASSIGN(const GraphDivision division, divideGraph(forward, options));
  for (const graph::Tensor& tensor : forward.tensors()) {
    if (tensor.role == graph::TensorRole::parameter && division.of(tensor.id) != kWhole)
      expertWeights_.insert(tensor.name);
  }
  std::size_t layer = 0;
  for (const graph::Node& node : forward.nodes()) {
    if (node.op != "ExpertDispatch") continue;
    PIPESCOPE_ASSIGN(const std::vector<double> shares,
                     ranks_.expertLoad.shares(graph::intAttribute(node, "experts", 1), layer++));
    const graph::Shape& choices = forward.tensor(node.inputs[1]).type.shape;
    RankLoads loads =
        loadsOf(shares, ranks_.expert, choices[0] * choices[1], graph::intAttribute(node, "capacity", 0));
    if (loads.imbalance > expertLoads_.imbalance) expertLoads_ = std::move(loads);
  }
  return ofRank(forward, division);
}

Result<Graph> RankDivider::ofRank(const Graph& forward, const GraphDivision& division) {
  for (const graph::Tensor& tensor : forward.tensors()) {
    const DividedAxis axis = division.of(tensor.id);
    if (axis < 0) continue;
    divisions_.push_back({{},
                          division.options.axis,
                          division.options.ranks,
                          static_cast<std::int32_t>(axis),
                          tensor.role == graph::TensorRole::parameter,
                          tensor.name,
                          graph::toString(tensor.type),
                          tensor.type.bytes()});
  }
  return graphOfRank(forward, division, ops::standardOperators());
}

/// Adds the weights that no division has divided.
void RankDivider::noteUndivided(const Graph& ofRank) {
  std::set<std::string> divided;
  for (const model::Division& row : divisions_)
    if (row.weight) divided.insert(row.tensor);
  for (const graph::Tensor& tensor : ofRank.tensors()) {
    if (tensor.role != graph::TensorRole::parameter || divided.contains(tensor.name)) continue;
    divisions_.push_back({{},
                          model::MeshAxis::tensor,
                          1,
                          -1,
                          true,
                          tensor.name,
                          graph::toString(tensor.type),
                          tensor.type.bytes()});
  }
}

/// Says which large weights every rank holds as a whole although nobody asked for it. Refuses ranks that do
/// not share most of the model: they would compute the same.
base::Status RankDivider::checkWholeWeights(const Graph& graph, const GraphDivision& division) {
  const WholeWeights whole = wholeWeightsOf(graph, division);
  if (whole.first == nullptr) return {};
  const double share = static_cast<double>(whole.elements) / static_cast<double>(whole.all);
  if (share > kMostWhole) {
    const std::string others =
        whole.count > 1
            ? fmt::format(" and {} other weights, {:.0f} % of the model's,", whole.count - 1, 100 * share)
            : "";
    const std::int64_t fewer = fewerRanks(graph, division.options);
    return base::badInput(fmt::format(
        "{} ({}){} cannot be divided by the {} ranks of execution.tensor_parallel: heads, widths "
        "and the vocabulary must be multiples of it. {}.",
        whole.first->name, graph::toString(whole.first->type), others, ranks_.tensor,
        fewer > 1 ? fmt::format("Choose {}", fewer)
                  : std::string("Leave it out, or say with [[model.shard]] which weights stay whole")));
  }
  constexpr double kWorthSaying = 0.02;
  if (share < kWorthSaying) return {};
  whole_ = fmt::format(
      "{} weights, {:.0f} % of the model's, are whole on each of {} ranks, because their sizes do not "
      "divide, or "
      "what follows cannot work on a part of their results: {}{}.",
      whole.count, 100 * share, ranks_.tensor, whole.first->name, whole.count > 1 ? " and others" : "");
  return {};
}

std::vector<std::string> RankDivider::notices() const {
  std::vector<std::string> notices;
  if (!whole_.empty()) notices.push_back(whole_);
  if (ranks_.keyRepeats > 1)
    notices.push_back(
        fmt::format("Each of the {} key heads is repeated {} times, so that each of {} ranks has one.",
                    ranks_.keyHeads, ranks_.keyRepeats, ranks_.tensor));
  if (ranks_.headRanks > 0)
    notices.push_back(fmt::format(
        "The {} heads of attention do not divide by {} ranks: attention is divided over {} ranks and "
        "repeated "
        "{} times, and the rest is divided over {}.",
        ranks_.heads, ranks_.tensor, ranks_.headRanks, ranks_.tensor / ranks_.headRanks, ranks_.tensor));
  for (const auto& [size, larger] : padded_)
    notices.push_back(fmt::format("The vocabulary of {} is padded to {}, so that {} ranks share it.", size,
                                  larger, ranks_.tensor));
  return notices;
}

}  // namespace pipescope::compile
