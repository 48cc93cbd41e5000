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

Result<LossSetup> lossSetupOf(const OperatorCall& call, std::size_t first) {
  if (!call.has(first) || !call.has(first + 1))
    return badInput(fmt::format("{}: it needs scores and labels", call.title()));
  const Shape &scores = call.input(first).shape, &labels = call.input(first + 1).shape;
  LossSetup setup;
  setup.title = call.title();
  if (scores.size() < 2) {
    return badInput(fmt::format("{}: its scores are {}; they need a batch and classes", call.title(),
                                graph::toString(call.input(first))));
  }
  Shape expected = scores;
  expected.erase(expected.begin() + 1);
  setup.labelType = call.input(first + 1).element;
  if (labels != expected ||
      (setup.labelType != ElementType::int64 && setup.labelType != ElementType::int32)) {
    return badInput(fmt::format("{}: its labels are {}; they must be {} of int64 or int32", call.title(),
                                graph::toString(call.input(first + 1)), fmt::join(expected, "x")));
  }
  setup.rows = scores[0];
  setup.classes = scores[1];
  setup.inner = graph::elementCount(Shape(scores.begin() + 2, scores.end()));
  if (setup.classes < 1 || setup.labels() < 1) {
    return badInput(fmt::format("{}: its scores are {}; there is nothing to take a loss of", call.title(),
                                graph::toString(call.input(first))));
  }
  if (call.has(first + 2) &&
      call.input(first + 2) != TensorType{call.input(first).element, {setup.classes}}) {
    return badInput(fmt::format("{}: its weights are {}; there must be one {} for each of the {} classes",
                                call.title(), graph::toString(call.input(first + 2)),
                                graph::toString(call.input(first).element), setup.classes));
  }
  PIPESCOPE_ASSIGN(setup.reduction, reductionOf(call));
  if (call.node.attributes.contains("ignore_index"))
    setup.ignored = graph::intAttribute(call.node, "ignore_index", 0);
  return setup;
}

std::vector<AttributeRule> classLossAttributes() {
  return {{"ignore_index", AttributeKind::integer}, {"reduction", AttributeKind::text}};
}

Shape lossShapeOf(const LossSetup& setup, const Shape& labels) {
  return setup.reduction == Reduction::none ? labels : Shape();
}

void addReductionWork(const OperatorCall& call, const LossSetup& setup, std::vector<Work>& work) {
  const ElementType type = call.input(0).element;
  if (call.has(2)) work.push_back({Map{MapFunction::multiply, setup.labels(), 2, type, true}, 1, "Weight"});
  if (setup.reduction == Reduction::none) return;
  const ReduceFunction function =
      setup.reduction == Reduction::mean ? ReduceFunction::mean : ReduceFunction::sum;
  work.push_back({Reduce{function, 1, setup.labels(), true, type}, 1, "Reduce"});
}

Result<std::vector<TensorType>> inferScoresGradient(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const LossSetup setup, lossSetupOf(call, 1));
  const TensorType expected{call.input(1).element, lossShapeOf(setup, call.input(2).shape)};
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

Status checkLabels(const LossSetup& setup, const LabelReader& labels) {
  for (std::int64_t i = 0; i < setup.labels(); ++i) {
    if ((labels[i] >= 0 && labels[i] < setup.classes) || setup.ignored == labels[i]) continue;
    return badInput(fmt::format(
        "{}: label {} in row {} is not one of the {} classes (0 to {}); check the labels or the last layer",
        setup.title, labels[i], i / setup.inner, setup.classes, setup.classes - 1));
  }
  return {};
}

}  // namespace pipescope::ops
