#include "engine/ops/class_loss.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace pipescope::ops {

using base::badInput;

Result<Reduction> reductionOf(const OperatorCall& call) {
  const std::string name = graph::stringAttribute(call.node, "reduction", "mean");
  if (name == "none") return Reduction::none;
  if (name == "sum") return Reduction::sum;
  if (name == "mean") return Reduction::mean;
  return badInput(fmt::format("{}: reduction is {}; it must be none, sum or mean", call.title(), name));
}

Result<LossPlan> lossPlanOf(const OperatorCall& call, std::size_t first) {
  if (!call.has(first) || !call.has(first + 1))
    return badInput(fmt::format("{}: it needs scores and labels", call.title()));
  const Shape &scores = call.input(first).shape, &labels = call.input(first + 1).shape;
  LossPlan plan;
  plan.title = call.title();
  if (scores.size() < 2) {
    return badInput(fmt::format("{}: its scores are {}; they need a batch and classes", call.title(),
                                graph::toString(call.input(first))));
  }
  Shape expected = scores;
  expected.erase(expected.begin() + 1);
  plan.labelType = call.input(first + 1).element;
  if (labels != expected || (plan.labelType != ElementType::int64 && plan.labelType != ElementType::int32)) {
    return badInput(fmt::format("{}: its labels are {}; they must be {} of int64 or int32", call.title(),
                                graph::toString(call.input(first + 1)), fmt::join(expected, "x")));
  }
  plan.rows = scores[0];
  plan.classes = scores[1];
  plan.inner = graph::elementCount(Shape(scores.begin() + 2, scores.end()));
  if (plan.classes < 1 || plan.labels() < 1) {
    return badInput(fmt::format("{}: its scores are {}; there is nothing to take a loss of", call.title(),
                                graph::toString(call.input(first))));
  }
  if (call.has(first + 2) && call.input(first + 2) != TensorType{call.input(first).element, {plan.classes}}) {
    return badInput(fmt::format("{}: its weights are {}; there must be one {} for each of the {} classes",
                                call.title(), graph::toString(call.input(first + 2)),
                                graph::toString(call.input(first).element), plan.classes));
  }
  PIPESCOPE_ASSIGN(plan.reduction, reductionOf(call));
  if (call.node.attributes.contains("ignore_index"))
    plan.ignored = graph::intAttribute(call.node, "ignore_index", 0);
  return plan;
}

Status checkLabels(const LossPlan& plan, const Labels& labels) {
  for (std::int64_t i = 0; i < plan.labels(); ++i) {
    if ((labels[i] >= 0 && labels[i] < plan.classes) || plan.ignored == labels[i]) continue;
    return badInput(fmt::format(
        "{}: label {} in row {} is not one of the {} classes (0 to {}); check the labels or the last layer",
        plan.title, labels[i], i / plan.inner, plan.classes, plan.classes - 1));
  }
  return {};
}

}  // namespace pipescope::ops
