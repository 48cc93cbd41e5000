// AdaMax (Kingma, Ba, ICLR 2015, section 7.1): Adam with the largest gradient in place of the second moment;
// weight decay is part of the gradient:
//   g ← g + weight_decay·w,  m ← β1·m + (1 − β1)·g,  v ← max(β2·v, |g|),
//   w ← w − learning_rate·(m / (1 − β1ᵗ)) / (v + ε)
#include <algorithm>
#include <cmath>

#include "engine/optimizers/common_settings.h"
#include "engine/optimizers/optimizer.h"

namespace pipescope::optimizers {
namespace {

class AdaMax : public Optimizer {
 public:
  explicit AdaMax(const OptimizerSettings& s)
      : beta1_(s.at("beta1")),
        beta2_(s.at("beta2")),
        epsilon_(s.at("epsilon")),
        weightDecay_(s.at("weight_decay")) {}

  std::string name() const override { return "adamax"; }

  std::vector<StateTensor> stateOf(const graph::TensorType& parameter) const override {
    return {stateLike("moment1", parameter), stateLike("largest", parameter)};
  }

  std::vector<ops::Work> workOf(const graph::TensorType& parameter, double divisor) const override {
    return UpdateWork(parameter)
        .mapIf(divisor != 1, ops::MapFunction::multiply, 1, "Mean")
        .mapIf(weightDecay_ != 0, ops::MapFunction::scaledAdd, 2, "WeightDecay")
        .map(ops::MapFunction::scaledAdd, 2, "Moment1")
        .map(ops::MapFunction::maximum, 2, "Largest")
        .map(ops::MapFunction::divide, 2, "Direction")
        .map(ops::MapFunction::scaledAdd, 2, "Step")
        .done();
  }

  void update(const Update& u) const override {
    const auto beta1 = static_cast<float>(beta1_), keep1 = static_cast<float>(1 - beta1_),
               beta2 = static_cast<float>(beta2_), epsilon = static_cast<float>(epsilon_),
               divisor = static_cast<float>(u.divisor);
    const auto correction = static_cast<float>(1 - std::pow(beta1_, static_cast<double>(u.step)));
    const auto rate = static_cast<float>(learningRate());
    const float decay = u.decays ? static_cast<float>(weightDecay_) : 0.0F;
    float* m = u.state[0].data();
    float* v = u.state[1].data();
    float* w = u.weights.data();
    const float* sum = u.gradients.data();
    for (std::size_t i = 0; i < u.weights.size(); ++i) {
      const float g = sum[i] / divisor + decay * w[i];
      m[i] = beta1 * m[i] + keep1 * g;
      const float magnitude = std::abs(g), faded = beta2 * v[i];
      v[i] = faded > magnitude ? faded : magnitude;  // a NaN gradient stays visible
      w[i] -= rate * ((m[i] / correction) / (v[i] + epsilon));
    }
  }

 private:
  double beta1_, beta2_, epsilon_, weightDecay_;
};

std::unique_ptr<Optimizer> createAdaMax(const OptimizerSettings& s) {
  return std::make_unique<AdaMax>(s);
}

}  // namespace

PIPESCOPE_REGISTER_OPTIMIZER(adamax) {
  registry.add({"adamax",
                {beta1(), beta2("Decay of the largest gradient."),
                 epsilon(1e-8, kLeastEpsilon, "Added to the largest gradient."), weightDecay(0)},
                createAdaMax});
}

}  // namespace pipescope::optimizers
