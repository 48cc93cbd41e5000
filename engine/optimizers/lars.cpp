// LARS (You, Gitman, Ginsburg: "Large batch training of convolutional networks", 2017), per parameter tensor:
//   r = trust_coefficient·‖w‖ / (‖g‖ + weight_decay·‖w‖ + ε), or 1 if a norm is 0,
//   v ← momentum·v + learning_rate·r·(g + weight_decay·w),  w ← w − v
// Parameters without weight decay (biases, norms) are not adapted either: r = 1.
#include <cmath>

#include "engine/optimizers/common_settings.h"
#include "engine/optimizers/optimizer.h"

namespace pipescope::optimizers {
namespace {

class Lars : public Optimizer {
 public:
  explicit Lars(const OptimizerSettings& s)
      : momentum_(s.at("momentum")),
        weightDecay_(s.at("weight_decay")),
        trust_(s.at("trust_coefficient")),
        epsilon_(s.at("epsilon")) {}

  std::string name() const override { return "lars"; }

  std::vector<StateTensor> stateOf(const graph::TensorType& parameter) const override {
    if (momentum_ == 0) return {};
    return {stateLike("velocity", parameter)};
  }

  std::vector<ops::Work> workOf(const graph::TensorType& parameter, double divisor) const override {
    return UpdateWork(parameter)
        .mapIf(divisor != 1, ops::MapFunction::multiply, 1, "Mean")
        .squareSum("WeightNorm")
        .squareSum("GradientNorm")
        .mapIf(weightDecay_ != 0, ops::MapFunction::scaledAdd, 2, "WeightDecay")
        .mapIf(momentum_ != 0, ops::MapFunction::scaledAdd, 2, "Velocity")
        .map(ops::MapFunction::scaledAdd, 2, "Step")
        .done();
  }

  std::size_t sumCount() const override { return 2; }

  void measure(const Update& u, std::span<double> sums) const override {
    const auto divisor = static_cast<float>(u.divisor);
    double weights = 0, gradients = 0;
    for (std::size_t i = 0; i < u.weights.size(); ++i) {
      const auto w = static_cast<double>(u.weights[i]), g = static_cast<double>(u.gradients[i] / divisor);
      weights += w * w;
      gradients += g * g;
    }
    sums[0] = weights;
    sums[1] = gradients;
  }

  void update(const Update& u) const override {
    const double weights = std::sqrt(u.sums[0]), gradients = std::sqrt(u.sums[1]);
    const double adapted = trust_ * weights / (gradients + weightDecay_ * weights + epsilon_);
    const double ratio = !u.decays || weights == 0 || gradients == 0 ? 1.0 : adapted;
    const auto rate = static_cast<float>(learningRate() * ratio), momentum = static_cast<float>(momentum_),
               divisor = static_cast<float>(u.divisor);
    const float decay = u.decays ? static_cast<float>(weightDecay_) : 0.0F;
    float* velocity = u.state.empty() ? nullptr : u.state[0].data();
    for (std::size_t i = 0; i < u.weights.size(); ++i) {
      float change = rate * (u.gradients[i] / divisor + decay * u.weights[i]);
      if (velocity) velocity[i] = change = momentum * velocity[i] + change;
      u.weights[i] -= change;
    }
  }

 private:
  double momentum_, weightDecay_, trust_, epsilon_;
};

std::unique_ptr<Optimizer> createLars(const OptimizerSettings& s) {
  return std::make_unique<Lars>(s);
}

}  // namespace

PIPESCOPE_REGISTER_OPTIMIZER(lars) {
  registry.add({"lars",
                {momentum(0.9),
                 weightDecay(1e-4),
                 {.name = "trust_coefficient",
                  .fallback = 1e-3,
                  .least = 1e-12,
                  .most = 1e3,
                  .help = "Factor of the adaptation by layer. A step moves a layer by about learning_rate × "
                          "this × its norm, so that learning rates of 1 to 10 are usual."},
                 epsilon(0, 0, "Added to the norms.")},
                createLars});
}

}  // namespace pipescope::optimizers
