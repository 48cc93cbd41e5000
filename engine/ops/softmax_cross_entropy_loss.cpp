// SoftmaxCrossEntropyLoss and its gradient. scores: N × C × d…; labels: N × d…, int64 or int32; optional
// weight per class. loss = Σ −w[label]·log softmax(scores)[label], divided by Σ w[label] for reduction
// "mean".
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "engine/ops/dispatch.h"
#include "engine/ops/gradient_builder.h"

namespace pipescope::ops {
namespace {

using base::badInput;

enum class Reduction { none, sum, mean };

struct LossPlan {
  std::string title;
  std::int64_t rows = 0;     ///< N
  std::int64_t classes = 0;  ///< C
  std::int64_t inner = 0;    ///< product of d…
  Reduction reduction = Reduction::mean;
  std::optional<std::int64_t> ignored;
  ElementType labelType = ElementType::int64;

  std::int64_t labels() const { return rows * inner; }
};

Result<Reduction> reductionOf(const OperatorCall& call) {
  const std::string name = graph::stringAttribute(call.node, "reduction", "mean");
  if (name == "none") return Reduction::none;
  if (name == "sum") return Reduction::sum;
  if (name == "mean") return Reduction::mean;
  return badInput(fmt::format("{}: reduction is {}; it must be none, sum or mean", call.title(), name));
}

/// scores, labels and weight stand at inputs `first`, `first` + 1 and `first` + 2.
Result<LossPlan> planOf(const OperatorCall& call, std::size_t first) {
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

/// The labels, whichever integer type they have.
class Labels {
 public:
  Labels(const LossPlan& plan, const KernelArguments& arguments, std::size_t input)
      : wide_(plan.labelType == ElementType::int64 ? arguments.input<std::int64_t>(input) : nullptr),
        narrow_(wide_ ? nullptr : arguments.input<std::int32_t>(input)) {}
  std::int64_t operator[](std::int64_t i) const { return wide_ ? wide_[i] : narrow_[i]; }

 private:
  const std::int64_t* wide_;
  const std::int32_t* narrow_;
};

Status checkLabels(const LossPlan& plan, const Labels& labels) {
  for (std::int64_t i = 0; i < plan.labels(); ++i) {
    if ((labels[i] >= 0 && labels[i] < plan.classes) || plan.ignored == labels[i]) continue;
    return badInput(fmt::format(
        "{}: label {} in row {} is not one of the {} classes (0 to {}); check the labels or the last layer",
        plan.title, labels[i], i / plan.inner, plan.classes, plan.classes - 1));
  }
  return {};
}

/// Scores of one label position: classes are `inner` apart.
template <class T>
struct Position {
  const T* scores;
  std::int64_t classes, step;
  T largest = 0, logSum = 0;

  Position(const LossPlan& plan, const T* all, std::int64_t label)
      : scores(all + label / plan.inner * plan.classes * plan.inner + label % plan.inner),
        classes(plan.classes),
        step(plan.inner) {
    largest = scores[0];
    for (std::int64_t c = 1; c < classes; ++c) largest = std::max(largest, scores[c * step]);
    T sum = 0;
    for (std::int64_t c = 0; c < classes; ++c) sum += std::exp(scores[c * step] - largest);
    logSum = std::log(sum);
  }
  T logProbability(std::int64_t c) const { return scores[c * step] - largest - logSum; }
};

template <class T>
T weightOf(const LossPlan& plan, const T* weights, std::int64_t label) {
  if (plan.ignored == label) return T(0);
  return weights ? weights[label] : T(1);
}

template <class T>
T totalWeight(const LossPlan& plan, const T* weights, const Labels& labels) {
  T total = 0;
  for (std::int64_t i = 0; i < plan.labels(); ++i) total += weightOf(plan, weights, labels[i]);
  return total;
}

// --- SoftmaxCrossEntropyLoss: scores, labels, [weight] → loss, [log_prob] --------------

Result<std::vector<TensorType>> inferLoss(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const LossPlan plan, planOf(call, 0));
  const Shape shape = plan.reduction == Reduction::none ? call.input(1).shape : Shape();
  return std::vector<TensorType>{{call.input(0).element, shape}, call.input(0)};
}

template <class T>
Status runLoss(const LossPlan& plan, const KernelArguments& a) {
  const Labels labels(plan, a, 1);
  PIPESCOPE_TRY(checkLabels(plan, labels));
  const T* weights = a.input<T>(2);
  T* loss = a.output<T>(0);
  T* logProbabilities = a.output<T>(1);
  T sum = 0;
  for (std::int64_t i = 0; i < plan.labels(); ++i) {
    const Position<T> position(plan, a.input<T>(0), i);
    const T weight = weightOf(plan, weights, labels[i]);
    const T own = plan.ignored == labels[i] ? T(0) : -weight * position.logProbability(labels[i]);
    sum += own;
    if (plan.reduction == Reduction::none) loss[i] = own;
    if (!logProbabilities) continue;
    T* to = logProbabilities + (position.scores - a.input<T>(0));
    for (std::int64_t c = 0; c < plan.classes; ++c) to[c * plan.inner] = position.logProbability(c);
  }
  if (plan.reduction == Reduction::sum) *loss = sum;
  if (plan.reduction == Reduction::mean) *loss = sum / totalWeight(plan, weights, labels);
  return {};
}

Result<Kernel> lossKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const LossPlan plan, planOf(call, 0));
  return kernelForFloats(call, call.input(0).element, [&plan]<class T>(T) {
    return Kernel{[plan](const KernelArguments& a) { return runLoss<T>(plan, a); }, 0};
  });
}

std::vector<Work> lossWork(const OperatorCall& call) {
  const Result<LossPlan> plan = planOf(call, 0);
  const ElementType type = call.input(0).element;
  const std::int64_t scores = call.input(0).elements();
  const bool neighbours = plan->inner == 1;
  std::vector<Work> work{{Reduce{"max", plan->labels(), plan->classes, neighbours, type}, 1, "Max"},
                         {Map{"subtract", scores, 2, type, false}, 1, "Shift"},
                         {Map{"exp", scores, 1, type, false}, 1, "Exp"},
                         {Reduce{"sum", plan->labels(), plan->classes, neighbours, type}, 1, "Sum"},
                         {Map{"log", plan->labels(), 1, type, true}, 1, "Log"},
                         {Gather{plan->labels(), 1, scores, type}, 1, "Pick"},
                         {Map{"subtract", plan->labels(), 2, type, true}, 1, "Nll"}};
  if (call.has(2)) work.push_back({Map{"multiply", plan->labels(), 2, type, true}, 1, "Weight"});
  if (call.requestedOutputs > 1) work.push_back({Map{"subtract", scores, 2, type, true}, 1, "LogProb"});
  if (plan->reduction != Reduction::none) {
    work.push_back(
        {Reduce{plan->reduction == Reduction::mean ? "mean" : "sum", 1, plan->labels(), true, type}, 1,
         "Reduce"});
  }
  return work;
}

Status lossGradient(GradientBuilder& builder) {
  const Node& node = builder.node();
  if (node.outputs.size() > 1 && builder.outputGradient(1).valid()) {
    return badInput(
        fmt::format("{}: cannot train through its second output, the logarithms of the probabilities",
                    builder.call().title()));
  }
  if (builder.call().has(2) && builder.wants(2)) {
    return badInput(
        fmt::format("{}: cannot train its class weights; make them constants", builder.call().title()));
  }
  std::vector<graph::TensorId> inputs{builder.isLoss(0) ? graph::TensorId() : builder.outputGradient(0)};
  inputs.insert(inputs.end(), node.inputs.begin(), node.inputs.end());
  return builder.addFor(0, "GradSoftmaxCrossEntropyLoss", "grad_input", std::move(inputs), node.attributes);
}

// --- GradSoftmaxCrossEntropyLoss: [dloss], scores, labels, [weight] → dscores; without dloss it is 1

Result<std::vector<TensorType>> inferGradLoss(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const LossPlan plan, planOf(call, 1));
  const Shape shape = plan.reduction == Reduction::none ? call.input(2).shape : Shape();
  if (call.has(0) && call.input(0).shape != shape) {
    return badInput(fmt::format("{}: the gradient by the loss is {}; it must be {}", call.title(),
                                graph::toString(call.input(0)),
                                graph::toString({call.input(1).element, shape})));
  }
  return std::vector<TensorType>{call.input(1)};
}

template <class T>
Status runGradLoss(const LossPlan& plan, const KernelArguments& a) {
  const Labels labels(plan, a, 2);
  PIPESCOPE_TRY(checkLabels(plan, labels));
  const T* upstream = a.input<T>(0);
  const T* scores = a.input<T>(1);
  const T* weights = a.input<T>(3);
  T* dscores = a.output<T>(0);
  const T divisor = plan.reduction == Reduction::mean ? totalWeight(plan, weights, labels) : T(1);
  for (std::int64_t i = 0; i < plan.labels(); ++i) {
    const Position<T> position(plan, scores, i);
    const T outer = upstream ? upstream[plan.reduction == Reduction::none ? i : 0] : T(1);
    const T factor = weightOf(plan, weights, labels[i]) / divisor * outer;
    T* to = dscores + (position.scores - scores);
    for (std::int64_t c = 0; c < plan.classes; ++c) {
      const T target = c == labels[i] ? T(1) : T(0);
      to[c * plan.inner] =
          plan.ignored == labels[i] ? T(0) : factor * (std::exp(position.logProbability(c)) - target);
    }
  }
  return {};
}

Result<Kernel> gradLossKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const LossPlan plan, planOf(call, 1));
  return kernelForFloats(call, call.input(1).element, [&plan]<class T>(T) {
    return Kernel{[plan](const KernelArguments& a) { return runGradLoss<T>(plan, a); }, 0};
  });
}

std::vector<Work> gradLossWork(const OperatorCall& call) {
  const Result<LossPlan> plan = planOf(call, 1);
  const ElementType type = call.input(1).element;
  const std::int64_t scores = call.input(1).elements();
  const bool neighbours = plan->inner == 1;
  std::vector<Work> work{{Reduce{"max", plan->labels(), plan->classes, neighbours, type}, 1, "Max"},
                         {Map{"subtract", scores, 2, type, false}, 1, "Shift"},
                         {Map{"exp", scores, 1, type, true}, 1, "Exp"},
                         {Reduce{"sum", plan->labels(), plan->classes, neighbours, type}, 1, "Sum"},
                         {Map{"divide", scores, 2, type, true}, 1, "Normalise"},
                         {Scatter{plan->labels(), 1, scores, true, type}, 1, "OneHot"}};
  const bool scaled = call.has(0) || call.has(3) || plan->reduction == Reduction::mean;
  if (scaled) work.push_back({Map{"multiply", scores, 2, type, true}, 1, "Scale"});
  return work;
}

std::vector<AttributeRule> lossAttributes() {
  return {{"ignore_index", AttributeKind::integer}, {"reduction", AttributeKind::text}};
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(softmax_cross_entropy_loss) {
  registry.add({.type = "SoftmaxCrossEntropyLoss",
                .attributes = lossAttributes(),
                .minInputs = 2,
                .maxInputs = 3,
                .maxOutputs = 2,
                .infer = inferLoss,
                .kernel = lossKernel,
                .work = lossWork,
                .gradient = lossGradient});
  registry.add({.type = "GradSoftmaxCrossEntropyLoss",
                .attributes = lossAttributes(),
                .minInputs = 0,
                .maxInputs = 4,
                .infer = inferGradLoss,
                .kernel = gradLossKernel,
                .work = gradLossWork});
}

}  // namespace pipescope::ops
