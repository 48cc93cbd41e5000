// NegativeLogLikelihoodLoss: log-probabilities, labels, [weight] → loss = Σ −w[label]·x[label], divided by Σ
// w[label] for reduction "mean". GradNegativeLogLikelihoodLoss: [dloss], x, labels, [weight] → dx; without
// dloss it is 1.
#include <algorithm>

#include "engine/ops/core/gradient_builder.h"
#include "engine/ops/losses/class_loss.h"

namespace pipescope::ops {
namespace {

std::int64_t placeOf(const LossSetup& setup, std::int64_t label, std::int64_t which) {
  return (label / setup.inner * setup.classes + which) * setup.inner + label % setup.inner;
}

Result<std::vector<TensorType>> inferNll(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const LossSetup setup, lossSetupOf(call, 0));
  return std::vector<TensorType>{{call.input(0).element, lossShapeOf(setup, call.input(1).shape)}};
}

struct NllLoss {
  template <class T>
  static Status run(const LossSetup& setup, const KernelArguments& a) {
    const LabelReader labels(setup, a, 1);
    PIPESCOPE_TRY(checkLabels(setup, labels));
    const T *x = a.input<T>(0), *weights = a.input<T>(2);
    T* loss = a.output<T>(0);
    T sum = 0;
    for (std::int64_t i = 0; i < setup.labels(); ++i) {
      const T own = setup.ignored == labels[i]
                        ? T(0)
                        : -weightOf(setup, weights, labels[i]) * x[placeOf(setup, i, labels[i])];
      sum += own;
      if (setup.reduction == Reduction::none) loss[i] = own;
    }
    reduceLoss(setup, sum, weights, labels, loss);
    return {};
  }
};

Result<Kernel> nllKernel(const OperatorCall& call) {
  return classLossKernel<NllLoss>(call, 0);
}

std::vector<Work> nllWork(const OperatorCall& call) {
  const LossSetup setup = *lossSetupOf(call, 0);
  const ElementType type = call.input(0).element;
  std::vector<Work> work{{Gather{setup.labels(), 1, call.input(0).elements(), type}, 1, "Pick"},
                         {Map{MapFunction::negate, setup.labels(), 1, type, true}, 1, "Nll"}};
  addReductionWork(call, setup, work);
  return work;
}

Status nllGradient(GradientBuilder& builder) {
  PIPESCOPE_ASSIGN(std::vector<graph::TensorId> inputs, scoresGradientInputs(builder));
  return builder.addFor(0, "GradNegativeLogLikelihoodLoss", "grad_input", std::move(inputs),
                        builder.node().attributes);
}

struct Gradient {
  template <class T>
  static Status run(const LossSetup& setup, const KernelArguments& a) {
    const LabelReader labels(setup, a, 2);
    PIPESCOPE_TRY(checkLabels(setup, labels));
    const T *upstream = a.input<T>(0), *weights = a.input<T>(3);
    T* dx = a.output<T>(0);
    std::fill_n(dx, setup.labels() * setup.classes, T(0));
    const T divisor = setup.reduction == Reduction::mean ? totalWeight(setup, weights, labels) : T(1);
    for (std::int64_t i = 0; i < setup.labels(); ++i) {
      if (setup.ignored == labels[i]) continue;
      const T outer = upstream ? upstream[setup.reduction == Reduction::none ? i : 0] : T(1);
      dx[placeOf(setup, i, labels[i])] = -weightOf(setup, weights, labels[i]) / divisor * outer;
    }
    return {};
  }
};

Result<Kernel> nllGradientKernel(const OperatorCall& call) {
  return classLossKernel<Gradient>(call, 1);
}

std::vector<Work> nllGradientWork(const OperatorCall& call) {
  const LossSetup setup = *lossSetupOf(call, 1);
  const ElementType type = call.input(1).element;
  const std::int64_t all = call.input(1).elements();
  return {{Map{MapFunction::fill, all, 1, type, false}, 1, "Zero"},
          {Scatter{setup.labels(), 1, all, false, type}, 1, "Spread"}};
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(negative_log_likelihood_loss) {
  registry.add({.type = "NegativeLogLikelihoodLoss",
                .attributes = classLossAttributes(),
                .minInputs = 2,
                .maxInputs = 3,
                .infer = inferNll,
                .kernel = nllKernel,
                .work = nllWork,
                .gradient = nllGradient});
  registry.add({.type = "GradNegativeLogLikelihoodLoss",
                .attributes = classLossAttributes(),
                .minInputs = 0,
                .maxInputs = 4,
                .infer = inferScoresGradient,
                .kernel = nllGradientKernel,
                .work = nllGradientWork});
}

}  // namespace pipescope::ops
