#include "engine/builders/experts.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace pipescope::builders {
namespace {

/// One product of all experts; the weights are experts × outputs × inputs.
TensorId expertProduct(ModelWriter& w, const MixtureOfExperts& spec, const std::string& name, TensorId rows,
                       TensorId counts, std::int64_t outputs) {
  const TensorId weight =
      w.parameter(name + "/weight", {spec.experts, outputs, w.shapeOf(rows).back()}, spec.initializer);
  return w.node("ExpertProduct", name, {rows, weight, counts});
}

/// The scores by which tokens choose their experts: with biases, and 0 outside the best groups (DeepSeek-V3,
/// section 2.1.2; scores are positive).
TensorId rankedScores(ModelWriter& w, const MixtureOfExperts& spec, TensorId scores) {
  if (spec.biased) {
    scores = w.node("Add", "biased",
                    {scores, w.floats("bias", {spec.experts},
                                      std::vector<float>(static_cast<std::size_t>(spec.experts), 0.0F))});
  }
  if (spec.groups <= 1 || spec.groupChoices >= spec.groups) return scores;
  const ModelWriter::Scope scope(w, "groups");
  const std::int64_t tokens = w.shapeOf(scores).front(), members = spec.experts / spec.groups;
  const graph::Attributes last{{"axis", std::int64_t{-1}}};
  const TensorId grouped = w.reshape("split", scores, {tokens, spec.groups, members});
  const std::vector<TensorId> two = w.nodes(
      "TopK", "best", {grouped, w.integers("best/count", {std::min<std::int64_t>(2, members)})}, last, 2);
  const TensorId sums =
      w.node("ReduceSum", "sum", {two[0], w.integers("sum/axes", {2})}, {{"keepdims", std::int64_t{0}}});
  const std::vector<TensorId> top =
      w.nodes("TopK", "choices", {sums, w.integers("choices/count", {spec.groupChoices})}, last, 2);
  // The last of the chosen sums is the least that is chosen.
  const TensorId least =
      w.node("Gather", "least", {top[0], w.integers("least/index", {spec.groupChoices - 1})},
             {{"axis", std::int64_t{1}}});
  const TensorId open =
      w.reshape("open", w.node("GreaterOrEqual", "mask", {sums, least}), {tokens, spec.groups, 1});
  const TensorId kept = w.node("Where", "kept", {open, grouped, w.scalar("kept/none", 0)});
  return w.reshape("join", kept, {tokens, spec.experts});
}

/// E · Σ f · p, with the share f of the choices that an expert got, and its mean probability p (Switch,
/// equations 4 to 6; divided by the number of choices as in Megatron-LM).
TensorId balancingLoss(ModelWriter& w, const MixtureOfExperts& spec, TensorId probabilities,
                       TensorId chosen) {
  const ModelWriter::Scope scope(w, "auxiliary_loss");
  constexpr std::int64_t kFloat = 1;  // ONNX's number of the type
  const TensorId mean = w.node("ReduceMean", "mean", {probabilities},
                               {{"axes", std::vector<std::int64_t>{0}}, {"keepdims", std::int64_t{0}}});
  const TensorId shares =
      w.node("Mul", "shares", {w.node("Cast", "chosen", {chosen}, {{"to", kFloat}}), mean});
  const TensorId sum =
      w.node("ReduceSum", "sum", {shares, w.integers("sum/axes", {0})}, {{"keepdims", std::int64_t{0}}});
  const auto choices = static_cast<double>(w.shapeOf(probabilities).front() * spec.perToken);
  return w.node(
      "Mul", "scale",
      {sum, w.scalar("scale/factor", spec.auxiliaryLoss * static_cast<double>(spec.experts) / choices)});
}

}  // namespace

MixtureResult addMixture(ModelWriter& w, const MixtureOfExperts& spec, TensorId x) {
  if (spec.perToken > spec.experts) {
    w.fail("model.experts_per_token is " + std::to_string(spec.perToken) + ", but model.experts only " +
           std::to_string(spec.experts));
    return {};
  }
  if (spec.groups > 1 && (spec.experts % spec.groups != 0 || spec.groupChoices > spec.groups ||
                          spec.groupChoices * (spec.experts / spec.groups) < spec.perToken)) {
    w.fail("model.router_groups is " + std::to_string(spec.groups) +
           ": model.experts = " + std::to_string(spec.experts) +
           " must divide by it, and model.router_group_choices = " + std::to_string(spec.groupChoices) +
           " of the groups must have model.experts_per_token experts");
    return {};
  }
  MixtureResult result;
  TensorId probabilities, weights, chosen;
  {
    const ModelWriter::Scope scope(w, "router");
    const TensorId scores = w.linear("scores", x, {spec.experts, false, spec.initializer, 0});
    probabilities = spec.sigmoid ? w.node("Sigmoid", "probabilities", {scores})
                                 : w.node("Softmax", "probabilities", {scores}, {{"axis", std::int64_t{-1}}});
    const TensorId ranked = rankedScores(w, spec, probabilities);
    const std::vector<TensorId> best =
        w.nodes("TopK", "choices", {ranked, w.integers("choices/count", {spec.perToken})},
                {{"axis", std::int64_t{-1}}}, 2);
    chosen = best[1];
    weights = ranked == probabilities ? best[0]
                                      : w.node("GatherElements", "chosen_scores", {probabilities, chosen},
                                               {{"axis", std::int64_t{-1}}});
    if (spec.normalised && spec.perToken > 1) {
      const TensorId sum =
          w.node("ReduceSum", "sum", {weights, w.integers("sum/axes", {1})}, {{"keepdims", std::int64_t{1}}});
      weights = w.node("Div", "weights", {weights, sum});
    }
    if (spec.scale != 1) weights = w.node("Mul", "scaled", {weights, w.scalar("scaled/factor", spec.scale)});
  }
  const ModelWriter::Scope scope(w, "experts");
  const auto tokens = static_cast<double>(w.shapeOf(x).front());
  const double mean = tokens * static_cast<double>(spec.perToken) / static_cast<double>(spec.experts);
  const auto capacity = static_cast<std::int64_t>(std::ceil(spec.capacity * mean));
  const std::vector<TensorId> sent = w.nodes("ExpertDispatch", "dispatch", {x, chosen},
                                             {{"experts", spec.experts},
                                              {"capacity", capacity},
                                              {"groups", spec.groups},
                                              {"group_choices", std::min(spec.groups, spec.groupChoices)}},
                                             4);
  const TensorId rows = sent[0], counts = sent[1];
  TensorId y = expertProduct(w, spec, spec.gated ? "gate" : "up", rows, counts, spec.inner);
  y = w.activation("activation", y, spec.activation);
  if (spec.gated) y = w.node("Mul", "gated", {y, expertProduct(w, spec, "up", rows, counts, spec.inner)});
  y = expertProduct(w, spec, "down", y, counts, spec.width);
  result.y = w.node("ExpertCombine", "combine", {y, sent[2], weights});
  if (w.training() && spec.auxiliaryLoss > 0) result.loss = balancingLoss(w, spec, probabilities, sent[3]);
  return result;
}

}  // namespace pipescope::builders
