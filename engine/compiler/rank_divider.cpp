#include "engine/compiler/rank_divider.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/compile/sharding/padded_vocabulary.h"
#include "engine/compile/sharding/rank_graph.h"
#include "engine/ops/standard_operators.h"

namespace pipescope::compile {

using base::Result;
using graph::Graph;

Result<Graph> RankDivider::divide(Graph forward) {
  if (ranks_.tensor > 1) {
    PIPESCOPE_ASSIGN(forward, amongTensorRanks(std::move(forward)));
  }
  if (ranks_.expert > 1) {
    PIPESCOPE_ASSIGN(forward, amongExperts(std::move(forward)));
  }
  return forward;
}

Result<Graph> RankDivider::amongTensorRanks(Graph forward) {
  const ops::OperatorRegistry& operators = ops::standardOperators();
  const DivisionOptions options{.ranks = ranks_.tensor, .sequence = ranks_.sequence};
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
  noteWholeWeights(padded.graph, division);
  return graphOfRank(padded.graph, division, operators);
}

Result<Graph> RankDivider::amongExperts(Graph forward) {
  const DivisionOptions options{
      .ranks = ranks_.expert, .axis = model::MeshAxis::expert, .expertLoad = ranks_.expertLoad};
  PIPESCOPE_ASSIGN(const GraphDivision division, divideGraph(forward, options));
  for (const graph::Tensor& tensor : forward.tensors()) {
    if (tensor.role == graph::TensorRole::parameter && division.of(tensor.id) != kWhole)
      expertWeights_.insert(tensor.name);
  }
  return graphOfRank(forward, division, ops::standardOperators());
}

/// Says which large weights every rank holds as a whole.
void RankDivider::noteWholeWeights(const Graph& graph, const GraphDivision& division) {
  std::string first;
  std::int64_t whole = 0, wholeCount = 0, all = 0;
  for (const graph::Tensor& tensor : graph.tensors()) {
    if (tensor.role != graph::TensorRole::parameter || tensor.type.shape.size() < 2) continue;
    all += tensor.type.elements();
    if (division.of(tensor.id) != kWhole) continue;
    if (first.empty()) first = tensor.name;
    whole += tensor.type.elements();
    ++wholeCount;
  }
  constexpr double kWorthSaying = 0.02;
  if (static_cast<double>(whole) < kWorthSaying * static_cast<double>(all)) return;
  whole_ = fmt::format(
      "{} weights, {:.0f} % of the model's, are whole on each of {} ranks, because their sizes do not "
      "divide, or "
      "what follows cannot work on a part of their results: {}{}.",
      wholeCount, 100 * static_cast<double>(whole) / static_cast<double>(all), ranks_.tensor, first,
      wholeCount > 1 ? " and others" : "");
}

std::vector<std::string> RankDivider::notices() const {
  std::vector<std::string> notices;
  if (!whole_.empty()) notices.push_back(whole_);
  for (const auto& [size, larger] : padded_)
    notices.push_back(fmt::format("The vocabulary of {} is padded to {}, so that {} ranks share it.", size,
                                  larger, ranks_.tensor));
  return notices;
}

}  // namespace pipescope::compile
