// SoftmaxCrossEntropyLoss and its gradient. scores: N × C × d…; labels: N × d…, int64 or int32; an optional
// weight for each class. loss = Σ −w[label]·log softmax(scores)[label], divided by Σ w[label] for reduction
// "mean".
#include <algorithm>
#include <cmath>

#include "engine/ops/core/axis_rows.h"
#include "engine/ops/core/gradient_builder.h"
#include "engine/ops/core/lane_math.h"
#include "engine/ops/losses/class_loss.h"

namespace pipescope::ops {
namespace {

/// The scores of one label position; classes are `inner` apart.
template <class T>
struct Position {
  const T* scores;
  std::int64_t classes, step;
  T largest = 0, logSum = 0;

  Position(const LossSetup& setup, const T* all, std::int64_t label)
      : scores(all + label / setup.inner * setup.classes * setup.inner + label % setup.inner),
        classes(setup.classes),
        step(setup.inner) {
    T sum = 0;
    if (step == 1) {
      const T most = largest = largestOf(scores, classes);
      sum = laneSum<T>(classes, [from = scores, most](std::int64_t c) { return lanes::exp(from[c] - most); });
    } else {
      largest = scores[0];
      for (std::int64_t c = 1; c < classes; ++c) largest = std::max(largest, scores[c * step]);
      for (std::int64_t c = 0; c < classes; ++c) sum += lanes::exp(scores[c * step] - largest);
    }
    logSum = std::log(sum);
  }
  T logProbability(std::int64_t c) const { return scores[c * step] - largest - logSum; }
};

// --- SoftmaxCrossEntropyLoss: scores, labels, [weight] → loss, [log_prob] --------------

Result<std::vector<TensorType>> inferCrossEntropy(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const LossSetup setup, lossSetupOf(call, 0));
  return std::vector<TensorType>{{call.input(0).element, lossShapeOf(setup, call.input(1).shape)},
                                 call.input(0)};
}

struct CrossEntropyLoss {
  template <class T>
  static Status run(const LossSetup& setup, const KernelArguments& a) {
    const LabelReader labels(setup, a, 1);
    PIPESCOPE_TRY(checkLabels(setup, labels));
    const T* weights = a.input<T>(2);
    T* loss = a.output<T>(0);
    T* logProbabilities = a.output<T>(1);
    T sum = 0;
    for (std::int64_t i = 0; i < setup.labels(); ++i) {
      const Position<T> position(setup, a.input<T>(0), i);
      const T weight = weightOf(setup, weights, labels[i]);
      const T own = setup.ignored == labels[i] ? T(0) : -weight * position.logProbability(labels[i]);
      sum += own;
      if (setup.reduction == Reduction::none) loss[i] = own;
      if (!logProbabilities) continue;
      T* to = logProbabilities + (position.scores - a.input<T>(0));
      for (std::int64_t c = 0; c < setup.classes; ++c) to[c * setup.inner] = position.logProbability(c);
    }
    reduceLoss(setup, sum, weights, labels, loss);
    return {};
  }
};

Result<Kernel> crossEntropyKernel(const OperatorCall& call) {
  return classLossKernel<CrossEntropyLoss>(call, 0);
}

std::vector<Work> crossEntropyWork(const OperatorCall& call) {
  const Result<LossSetup> setup = lossSetupOf(call, 0);
  const ElementType type = call.input(0).element;
  const std::int64_t scores = call.input(0).elements();
  const bool neighbours = setup->inner == 1;
  std::vector<Work> work{
      {Reduce{ReduceFunction::max, setup->labels(), setup->classes, neighbours, type}, 1, "Max"},
      {Map{MapFunction::subtract, scores, 2, type, false}, 1, "Shift"},
      {Map{MapFunction::exp, scores, 1, type, false}, 1, "Exp"},
      {Reduce{ReduceFunction::sum, setup->labels(), setup->classes, neighbours, type}, 1, "Sum"},
      {Map{MapFunction::log, setup->labels(), 1, type, true}, 1, "Log"},
      {Gather{setup->labels(), 1, scores, type}, 1, "Pick"},
      {Map{MapFunction::subtract, setup->labels(), 2, type, true}, 1, "Nll"}};
  if (call.requestedOutputs > 1)
    work.push_back({Map{MapFunction::subtract, scores, 2, type, true}, 1, "LogProb"});
  addReductionWork(call, *setup, work);
  return work;
}

Status crossEntropyGradient(GradientBuilder& builder) {
  const Node& node = builder.node();
  PIPESCOPE_ASSIGN(std::vector<graph::TensorId> inputs, scoresGradientInputs(builder));
  // The gradient through the log-probabilities, which are those of a LogSoftmax.
  const graph::TensorId logs =
      node.outputs.size() > 1 && node.outputs[1].valid() ? builder.outputGradient(1) : graph::TensorId();
  const bool throughLoss = builder.isLoss(0) || builder.outputGradient(0).valid();
  graph::TensorId gradient;
  if (logs.valid()) {
    PIPESCOPE_ASSIGN(gradient, builder.add("GradLogSoftmax", "grad_log_prob", {node.outputs[1], logs},
                                           {{"axis", std::int64_t{1}}}));
  }
  if (throughLoss) {
    PIPESCOPE_ASSIGN(const graph::TensorId own, builder.add("GradSoftmaxCrossEntropyLoss", "grad_input",
                                                            std::move(inputs), node.attributes));
    if (logs.valid()) {
      PIPESCOPE_ASSIGN(gradient, builder.add("Sum", "grad_both", {own, gradient}, {}));
    } else {
      gradient = own;
    }
  }
  builder.setInputGradient(0, gradient);
  return {};
}

// --- GradSoftmaxCrossEntropyLoss: [dloss], scores, labels, [weight] → dscores; without dloss it is 1

struct GradLoss {
  template <class T>
  static Status run(const LossSetup& setup, const KernelArguments& a) {
    const LabelReader labels(setup, a, 2);
    PIPESCOPE_TRY(checkLabels(setup, labels));
    const T* upstream = a.input<T>(0);
    const T* scores = a.input<T>(1);
    const T* weights = a.input<T>(3);
    T* dscores = a.output<T>(0);
    const T divisor = setup.reduction == Reduction::mean ? totalWeight(setup, weights, labels) : T(1);
    for (std::int64_t i = 0; i < setup.labels(); ++i) {
      const Position<T> position(setup, scores, i);
      const T outer = upstream ? upstream[setup.reduction == Reduction::none ? i : 0] : T(1);
      const T factor = weightOf(setup, weights, labels[i]) / divisor * outer;
      T* to = dscores + (position.scores - scores);
      if (setup.ignored == labels[i]) {
        for (std::int64_t c = 0; c < setup.classes; ++c) to[c * setup.inner] = T(0);
        continue;
      }
      if (setup.inner == 1) {
        const T shift = position.largest + position.logSum;
        for (std::int64_t c = 0; c < setup.classes; ++c)
          to[c] = factor * lanes::exp(position.scores[c] - shift);
      } else {
        for (std::int64_t c = 0; c < setup.classes; ++c)
          to[c * setup.inner] = factor * lanes::exp(position.logProbability(c));
      }
      to[labels[i] * setup.inner] = factor * std::expm1(position.logProbability(labels[i]));
    }
    return {};
  }
};

Result<Kernel> gradLossKernel(const OperatorCall& call) {
  return classLossKernel<GradLoss>(call, 1);
}

std::vector<Work> gradLossWork(const OperatorCall& call) {
  const Result<LossSetup> setup = lossSetupOf(call, 1);
  const ElementType type = call.input(1).element;
  const std::int64_t scores = call.input(1).elements();
  const bool neighbours = setup->inner == 1;
  std::vector<Work> work{
      {Reduce{ReduceFunction::max, setup->labels(), setup->classes, neighbours, type}, 1, "Max"},
      {Map{MapFunction::subtract, scores, 2, type, false}, 1, "Shift"},
      {Map{MapFunction::exp, scores, 1, type, true}, 1, "Exp"},
      {Reduce{ReduceFunction::sum, setup->labels(), setup->classes, neighbours, type}, 1, "Sum"},
      {Map{MapFunction::normalise, scores, 2, type, true}, 1, "Normalise"},
      {Scatter{setup->labels(), 1, scores, true, type}, 1, "OneHot"}};
  const bool scaled = call.has(0) || call.has(3) || setup->reduction == Reduction::mean;
  if (scaled) work.push_back({Map{MapFunction::multiply, scores, 2, type, true}, 1, "Scale"});
  return work;
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(softmax_cross_entropy_loss) {
  registry.add({.type = "SoftmaxCrossEntropyLoss",
                .attributes = classLossAttributes(),
                .minInputs = 2,
                .maxInputs = 3,
                .maxOutputs = 2,
                .infer = inferCrossEntropy,
                .kernel = crossEntropyKernel,
                .work = crossEntropyWork,
                .gradient = crossEntropyGradient});
  registry.add({.type = "GradSoftmaxCrossEntropyLoss",
                .attributes = classLossAttributes(),
                .minInputs = 0,
                .maxInputs = 4,
                .infer = inferScoresGradient,
                .kernel = gradLossKernel,
                .work = gradLossWork,
                // Megatron-LM, core/tensor_parallel/cross_entropy.py: the scores in float32 become
                // probabilities and then the gradient in place.
                .replacedInput = 1});
}

}  // namespace pipescope::ops
