// Adam (Kingma, Ba: "Adam: a method for stochastic optimization", ICLR 2015) with bias correction; weight
// decay is L2 regularisation, part of the gradient:
//   g ← g + weight_decay·w,  m ← β1·m + (1 − β1)·g,  v ← β2·v + (1 − β2)·g²,
//   w ← w − learning_rate·(m / (1 − β1ᵗ)) / (√(v / (1 − β2ᵗ)) + ε)
#include <cmath>

#include "engine/ops/core/broadcast.h"
#include "engine/optimizers/common_settings.h"
#include "engine/optimizers/optimizer.h"

namespace pipescope::optimizers {
namespace {

class Adam : public Optimizer {
 public:
  explicit Adam(const OptimizerSettings& s)
      : beta1_(s.at("beta1")),
        beta2_(s.at("beta2")),
        epsilon_(s.at("epsilon")),
        weightDecay_(s.at("weight_decay")),
        variableDecay_(s.at("variable_decay") != 0),
        half1_(s.at("half_moment1") != 0),
        half2_(s.at("half_moment2") != 0) {}

  std::string name() const override { return "adam"; }

  std::vector<StateTensor> stateOf(const graph::TensorType& parameter) const override {
    return {stateLike("moment1", parameter, half1_), stateLike("moment2", parameter, half2_)};
  }

  std::vector<ops::Work> workOf(const graph::TensorType& parameter, double divisor) const override {
    return UpdateWork(parameter)
        .mapIf(divisor != 1, ops::MapFunction::multiply, 1, "Mean")
        .mapIf(weightDecay_ != 0 || variableDecay_, ops::MapFunction::scaledAdd, 2, "WeightDecay")
        .map(ops::MapFunction::scaledAdd, 2, "Moment1")
        .map(ops::MapFunction::squareScaledAdd, 2, "Moment2")
        .map(ops::MapFunction::adamStep, 2, "Direction")
        .map(ops::MapFunction::scaledAdd, 2, "Step")
        .done();
  }

  void update(const Update& u) const override {
    const auto t = static_cast<double>(u.step);
    const auto beta1 = static_cast<float>(beta1_), beta2 = static_cast<float>(beta2_);
    const auto keep1 = static_cast<float>(1 - beta1_), keep2 = static_cast<float>(1 - beta2_);
    const auto correction1 = static_cast<float>(1 - std::pow(beta1_, t)),
               correction2 = static_cast<float>(1 - std::pow(beta2_, t));
    const auto epsilon = static_cast<float>(epsilon_), factor = static_cast<float>(1 / u.divisor);
    // rate·(m ÷ c1) ÷ (√(v ÷ c2) + ε): factors that are equal for all elements are divided only once.
    const auto step = static_cast<float>(learningRate() / double{correction1}),
               spread = static_cast<float>(1 / double{correction2});
    const float decay = u.decays ? static_cast<float>(weightDecay_) : 0.0F;
    float* m = u.state[0].data();
    float* v = u.state[1].data();
    float* w = u.weights.data();
    const float* sum = u.gradients.data();
    PIPESCOPE_ELEMENTWISE
    for (std::size_t i = 0; i < u.weights.size(); ++i) {
      const float g = sum[i] * factor + decay * w[i];
      const float first = beta1 * m[i] + keep1 * g, second = beta2 * v[i] + keep2 * (g * g);
      m[i] = first;
      v[i] = second;
      w[i] -= step * first / (std::sqrt(second * spread) + epsilon);
    }
  }

 private:
  double beta1_, beta2_, epsilon_, weightDecay_;
  bool variableDecay_, half1_, half2_;
};

std::unique_ptr<Optimizer> createAdam(const OptimizerSettings& s) {
  return std::make_unique<Adam>(s);
}

}  // namespace

PIPESCOPE_REGISTER_OPTIMIZER(adam) {
  registry.add(
      {"adam",
       {beta1(), beta2(), epsilon(1e-8, 0), weightDecay(0), variableDecay(), halfMoment1(), halfMoment2()},
       createAdam});
}

}  // namespace pipescope::optimizers
