#include "engine/ops/losses/class_loss.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/ops/core/gradient_builder.h"

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

std::vector<AttributeRule> classLossAttributes() {
  return {{"ignore_index", AttributeKind::integer}, {"reduction", AttributeKind::text}};
}

Shape lossShapeOf(const LossPlan& plan, const Shape& labels) {
  return plan.reduction == Reduction::none ? labels : Shape();
}

void addReductionWork(const OperatorCall& call, const LossPlan& plan, std::vector<Work>& work) {
  const ElementType type = call.input(0).element;
  if (call.has(2)) work.push_back({Map{MapFunction::multiply, plan.labels(), 2, type, true}, 1, "Weight"});
  if (plan.reduction == Reduction::none) return;
  const ReduceFunction function =
      plan.reduction == Reduction::mean ? ReduceFunction::mean : ReduceFunction::sum;
  work.push_back({Reduce{function, 1, plan.labels(), true, type}, 1, "Reduce"});
}

Result<std::vector<TensorType>> inferScoresGradient(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const LossPlan plan, lossPlanOf(call, 1));
  const TensorType expected{call.input(1).element, lossShapeOf(plan, call.input(2).shape)};
  if (call.has(0) && call.input(0) != expected) {
    return badInput(fmt::format("{}: the gradient by the loss is {}; it must be {}", call.title(),
                                graph::toString(call.input(0)), graph::toString(expected)));
  }
  return std::vector<TensorType>{call.input(1)};
}

Result<std::vector<graph::TensorId>> scoresGradientInputs(GradientBuilder& builder) {
  if (builder.call().has(2) && builder.wants(2)) {
    return badInput(
        fmt::format("{}: cannot train its class weights; make them constants", builder.call().title()));
  }
  std::vector<graph::TensorId> inputs{builder.isLoss(0) ? graph::TensorId() : builder.outputGradient(0)};
  inputs.insert(inputs.end(), builder.node().inputs.begin(), builder.node().inputs.end());
  return inputs;
}

Status checkLabels(const LossPlan& plan, const LabelReader& labels) {
  for (std::int64_t i = 0; i < plan.labels(); ++i) {
    if ((labels[i] >= 0 && labels[i] < plan.classes) || plan.ignored == labels[i]) continue;
    return badInput(fmt::format(
        "{}: label {} in row {} is not one of the {} classes (0 to {}); check the labels or the last layer",
        plan.title, labels[i], i / plan.inner, plan.classes, plan.classes - 1));
  }
  return {};
}

}  // namespace pipescope::ops
