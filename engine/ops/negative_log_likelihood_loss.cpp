// NegativeLogLikelihoodLoss: log-probabilities, labels, [weight] → loss = Σ −w[label]·x[label], divided by
// Σ w[label] for reduction "mean"; GradNegativeLogLikelihoodLoss: [dloss], x, labels, [weight] → dx, which
// without dloss takes it as 1.
#include <fmt/format.h>

#include <algorithm>

#include "engine/ops/class_loss.h"
#include "engine/ops/dispatch.h"
#include "engine/ops/gradient_builder.h"

namespace pipescope::ops {
namespace {

using base::badInput;

std::int64_t placeOf(const LossPlan& plan, std::int64_t label, std::int64_t which) {
  return (label / plan.inner * plan.classes + which) * plan.inner + label % plan.inner;
}

Shape lossShape(const LossPlan& plan, const Shape& labels) {
  return plan.reduction == Reduction::none ? labels : Shape();
}

Result<std::vector<TensorType>> inferLoss(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const LossPlan plan, lossPlanOf(call, 0));
  return std::vector<TensorType>{{call.input(0).element, lossShape(plan, call.input(1).shape)}};
}

template <class T>
Status runLoss(const LossPlan& plan, const KernelArguments& a) {
  const Labels labels(plan, a, 1);
  PIPESCOPE_TRY(checkLabels(plan, labels));
  const T *x = a.input<T>(0), *weights = a.input<T>(2);
  T* loss = a.output<T>(0);
  T sum = 0;
  for (std::int64_t i = 0; i < plan.labels(); ++i) {
    const T own = plan.ignored == labels[i]
                      ? T(0)
                      : -weightOf(plan, weights, labels[i]) * x[placeOf(plan, i, labels[i])];
    sum += own;
    if (plan.reduction == Reduction::none) loss[i] = own;
  }
  if (plan.reduction == Reduction::sum) *loss = sum;
  if (plan.reduction == Reduction::mean) *loss = sum / totalWeight(plan, weights, labels);
  return {};
}

Result<Kernel> lossKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const LossPlan plan, lossPlanOf(call, 0));
  return kernelForFloats(call, call.input(0).element, [&plan]<class T>(T) {
    return Kernel{[plan](const KernelArguments& a) { return runLoss<T>(plan, a); }, 0};
  });
}

std::vector<Work> lossWork(const OperatorCall& call) {
  const LossPlan plan = *lossPlanOf(call, 0);
  const ElementType type = call.input(0).element;
  std::vector<Work> work{{Gather{plan.labels(), 1, call.input(0).elements(), type}, 1, "Pick"},
                         {Map{"negate", plan.labels(), 1, type, true}, 1, "Nll"}};
  if (call.has(2)) work.push_back({Map{"multiply", plan.labels(), 2, type, true}, 1, "Weight"});
  if (plan.reduction != Reduction::none) {
    work.push_back({Reduce{plan.reduction == Reduction::mean ? "mean" : "sum", 1, plan.labels(), true, type},
                    1, "Reduce"});
  }
  return work;
}

Status lossGradient(GradientBuilder& builder) {
  const Node& node = builder.node();
  if (builder.call().has(2) && builder.wants(2)) {
    return badInput(
        fmt::format("{}: cannot train its class weights; make them constants", builder.call().title()));
  }
  std::vector<graph::TensorId> inputs{builder.isLoss(0) ? graph::TensorId() : builder.outputGradient(0)};
  inputs.insert(inputs.end(), node.inputs.begin(), node.inputs.end());
  return builder.addFor(0, "GradNegativeLogLikelihoodLoss", "grad_input", std::move(inputs), node.attributes);
}

Result<std::vector<TensorType>> inferGradient(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const LossPlan plan, lossPlanOf(call, 1));
  const TensorType expected{call.input(1).element, lossShape(plan, call.input(2).shape)};
  if (call.has(0) && call.input(0) != expected) {
    return badInput(fmt::format("{}: the gradient by the loss is {}; it must be {}", call.title(),
                                graph::toString(call.input(0)), graph::toString(expected)));
  }
  return std::vector<TensorType>{call.input(1)};
}

template <class T>
Status runGradient(const LossPlan& plan, const KernelArguments& a) {
  const Labels labels(plan, a, 2);
  PIPESCOPE_TRY(checkLabels(plan, labels));
  const T *upstream = a.input<T>(0), *weights = a.input<T>(3);
  T* dx = a.output<T>(0);
  std::fill_n(dx, plan.labels() * plan.classes, T(0));
  const T divisor = plan.reduction == Reduction::mean ? totalWeight(plan, weights, labels) : T(1);
  for (std::int64_t i = 0; i < plan.labels(); ++i) {
    if (plan.ignored == labels[i]) continue;
    const T outer = upstream ? upstream[plan.reduction == Reduction::none ? i : 0] : T(1);
    dx[placeOf(plan, i, labels[i])] = -weightOf(plan, weights, labels[i]) / divisor * outer;
  }
  return {};
}

Result<Kernel> gradientKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const LossPlan plan, lossPlanOf(call, 1));
  return kernelForFloats(call, call.input(1).element, [&plan]<class T>(T) {
    return Kernel{[plan](const KernelArguments& a) { return runGradient<T>(plan, a); }, 0};
  });
}

std::vector<Work> gradientWork(const OperatorCall& call) {
  const LossPlan plan = *lossPlanOf(call, 1);
  const ElementType type = call.input(1).element;
  const std::int64_t all = call.input(1).elements();
  return {{Map{"fill", all, 1, type, false}, 1, "Zero"},
          {Scatter{plan.labels(), 1, all, false, type}, 1, "Spread"}};
}

std::vector<AttributeRule> lossAttributes() {
  return {{"ignore_index", AttributeKind::integer}, {"reduction", AttributeKind::text}};
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(negative_log_likelihood_loss) {
  registry.add({.type = "NegativeLogLikelihoodLoss",
                .attributes = lossAttributes(),
                .minInputs = 2,
                .maxInputs = 3,
                .infer = inferLoss,
                .kernel = lossKernel,
                .work = lossWork,
                .gradient = lossGradient});
  registry.add({.type = "GradNegativeLogLikelihoodLoss",
                .attributes = lossAttributes(),
                .minInputs = 0,
                .maxInputs = 4,
                .infer = inferGradient,
                .kernel = gradientKernel,
                .work = gradientWork});
}

}  // namespace pipescope::ops
