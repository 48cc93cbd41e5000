// LAMB (You et al.: "Large batch optimization for deep learning: training BERT in 76 minutes", ICLR 2020), as
// PopTorch does it, per parameter tensor:
//   m ← β1·m + (1 − β1)·g,  v ← β2·v + (1 − β2)·g²,  x = m̂ / (√v̂ + ε) + weight_decay·w,
//   r = min(‖w‖, max_weight_norm) / ‖x‖, or 1 if a norm is 0,  w ← w − learning_rate·r·x
// where m̂ and v̂ are divided by 1 − βᵗ when bias_correction is on.
#include <algorithm>
#include <cmath>

#include "engine/optimizers/common_settings.h"
#include "engine/optimizers/optimizer.h"

namespace pipescope::optimizers {
namespace {

class Lamb : public Optimizer {
 public:
  explicit Lamb(const OptimizerSettings& s)
      : beta1_(s.at("beta1")),
        beta2_(s.at("beta2")),
        epsilon_(s.at("epsilon")),
        weightDecay_(s.at("weight_decay")),
        maxWeightNorm_(s.at("max_weight_norm")),
        variableDecay_(s.at("variable_decay") != 0),
        biasCorrection_(s.at("bias_correction") != 0),
        half1_(s.at("half_moment1") != 0),
        half2_(s.at("half_moment2") != 0) {}

  std::string name() const override { return "lamb"; }

  std::vector<StateTensor> stateOf(const graph::TensorType& parameter) const override {
    return {stateLike("moment1", parameter, half1_), stateLike("moment2", parameter, half2_)};
  }

  std::vector<ops::Work> workOf(const graph::TensorType& parameter, double divisor) const override {
    return UpdateWork(parameter)
        .mapIf(divisor != 1, ops::MapFunction::multiply, 1, "Mean")
        .map(ops::MapFunction::scaledAdd, 2, "Moment1")
        .map(ops::MapFunction::squareScaledAdd, 2, "Moment2")
        .map(ops::MapFunction::adamStep, 2, "Direction")
        .mapIf(weightDecay_ != 0 || variableDecay_, ops::MapFunction::scaledAdd, 2, "WeightDecay")
        .squareSum("WeightNorm")
        .squareSum("DirectionNorm")
        .map(ops::MapFunction::scaledAdd, 2, "Step")
        .done();
  }

  std::size_t sumCount() const override { return 2; }

  void measure(const Update& u, std::span<double> sums) const override {
    const auto beta1 = static_cast<float>(beta1_), beta2 = static_cast<float>(beta2_),
               keep1 = static_cast<float>(1 - beta1_), keep2 = static_cast<float>(1 - beta2_),
               divisor = static_cast<float>(u.divisor);
    float* m = u.state[0].data();
    float* v = u.state[1].data();
    const Direction direction = directionOf(u);
    double weights = 0, directions = 0;
    for (std::size_t i = 0; i < u.weights.size(); ++i) {
      const float g = u.gradients[i] / divisor;
      m[i] = beta1 * m[i] + keep1 * g;
      v[i] = beta2 * v[i] + keep2 * (g * g);
      const auto w = static_cast<double>(u.weights[i]),
                 x = static_cast<double>(direction.at(m[i], v[i], u.weights[i]));
      weights += w * w;
      directions += x * x;
    }
    sums[0] = weights;
    sums[1] = directions;
  }

  void update(const Update& u) const override {
    const double weights = std::sqrt(u.sums[0]), directions = std::sqrt(u.sums[1]);
    const double ratio =
        weights == 0 || directions == 0 ? 1.0 : std::min(weights, maxWeightNorm_) / directions;
    const auto rate = static_cast<float>(learningRate() * ratio);
    const Direction direction = directionOf(u);
    for (std::size_t i = 0; i < u.weights.size(); ++i)
      u.weights[i] -= rate * direction.at(u.state[0][i], u.state[1][i], u.weights[i]);
  }

 private:
  /// Computes x of one element from its moments.
  struct Direction {
    float correction1, correction2, epsilon, decay;
    float at(float m, float v, float w) const {
      return (m / correction1) / (std::sqrt(v / correction2) + epsilon) + decay * w;
    }
  };
  Direction directionOf(const Update& u) const {
    const auto t = static_cast<double>(u.step);
    return {biasCorrection_ ? static_cast<float>(1 - std::pow(beta1_, t)) : 1.0F,
            biasCorrection_ ? static_cast<float>(1 - std::pow(beta2_, t)) : 1.0F,
            static_cast<float>(epsilon_), u.decays ? static_cast<float>(weightDecay_) : 0.0F};
  }

  double beta1_, beta2_, epsilon_, weightDecay_, maxWeightNorm_;
  bool variableDecay_, biasCorrection_, half1_, half2_;
};

std::unique_ptr<Optimizer> createLamb(const OptimizerSettings& s) {
  return std::make_unique<Lamb>(s);
}

}  // namespace

PIPESCOPE_REGISTER_OPTIMIZER(lamb) {
  registry.add({"lamb",
                {beta1(),
                 beta2(),
                 epsilon(1e-8, kLeastEpsilon),
                 weightDecay(0.01),
                 variableDecay(),
                 {.name = "max_weight_norm",
                  .fallback = 65500,
                  .least = 1e-30,
                  .most = 1e30,
                  .help = "Larger norms of weights count as this."},
                 biasCorrection(),
                 halfMoment1(),
                 halfMoment2()},
                createLamb});
}

}  // namespace pipescope::optimizers
