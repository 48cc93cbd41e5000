// RMSprop (Tieleman, Hinton: lecture 6.5 of "Neural networks for machine learning", 2012), as PyTorch does
// it:
//   g ← g + weight_decay·w,  s ← α·s + (1 − α)·g²,  centered: a ← α·a + (1 − α)·g and d = √(s − a²) + ε,
//   otherwise d = √s + ε;  b ← momentum·b + g / d,  w ← w − learning_rate·b
// TensorFlow's variant (Keras' RMSprop) has d = √(s + ε) or √(s − a² + ε), and takes the rate into the
// velocity: b ← momentum·b + learning_rate·g / d,  w ← w − b.
#include <algorithm>
#include <cmath>

#include "engine/optimizers/common_settings.h"
#include "engine/optimizers/optimizer.h"

namespace pipescope::optimizers {
namespace {

class RmsProp : public Optimizer {
 public:
  explicit RmsProp(const OptimizerSettings& s)
      : alpha_(s.at("alpha")),
        epsilon_(s.at("epsilon")),
        weightDecay_(s.at("weight_decay")),
        momentum_(s.at("momentum")),
        variableDecay_(s.at("variable_decay") != 0),
        centered_(s.at("centered") != 0),
        tensorflow_(s.at("tensorflow_variant") != 0),
        half1_(s.at("half_moment1") != 0),
        half2_(s.at("half_moment2") != 0) {}

  std::string name() const override { return "rmsprop"; }

  std::vector<StateTensor> stateOf(const graph::TensorType& parameter) const override {
    std::vector<StateTensor> state{stateLike("square_average", parameter, half2_)};
    if (centered_) state.push_back(stateLike("average", parameter, half1_));
    if (momentum_ != 0) state.push_back(stateLike("velocity", parameter, half1_));
    return state;
  }

  std::vector<ops::Work> workOf(const graph::TensorType& parameter, double divisor) const override {
    return UpdateWork(parameter)
        .mapIf(divisor != 1, ops::MapFunction::multiply, 1, "Mean")
        .mapIf(weightDecay_ != 0 || variableDecay_, ops::MapFunction::scaledAdd, 2, "WeightDecay")
        .map(ops::MapFunction::squareScaledAdd, 2, "SquareAverage")
        .mapIf(centered_, ops::MapFunction::scaledAdd, 2, "Average")
        .mapIf(centered_, ops::MapFunction::squareScaledAdd, 2, "Variance")
        .map(ops::MapFunction::adamStep, 2, "Direction")
        .mapIf(momentum_ != 0, ops::MapFunction::scaledAdd, 2, "Velocity")
        .map(ops::MapFunction::scaledAdd, 2, "Step")
        .done();
  }

  void update(const Update& u) const override {
    const auto alpha = static_cast<float>(alpha_), keep = static_cast<float>(1 - alpha_),
               epsilon = static_cast<float>(epsilon_), momentum = static_cast<float>(momentum_),
               rate = static_cast<float>(learningRate()), divisor = static_cast<float>(u.divisor);
    const float decay = u.decays ? static_cast<float>(weightDecay_) : 0.0F;
    float* square = u.state[0].data();
    float* average = centered_ ? u.state[1].data() : nullptr;
    float* velocity = momentum_ != 0 ? u.state.back().data() : nullptr;
    for (std::size_t i = 0; i < u.weights.size(); ++i) {
      const float g = u.gradients[i] / divisor + decay * u.weights[i];
      square[i] = alpha * square[i] + keep * (g * g);
      float variance = square[i];
      if (average) {
        average[i] = alpha * average[i] + keep * g;
        // Rounding may make the difference negative, although a variance is not.
        const float difference = variance - average[i] * average[i];
        variance = difference < 0 ? 0.0F : difference;
      }
      const float spread = tensorflow_ ? std::sqrt(variance + epsilon) : std::sqrt(variance) + epsilon;
      float change = tensorflow_ ? rate * g / spread : g / spread;
      if (velocity) velocity[i] = change = momentum * velocity[i] + change;
      u.weights[i] -= tensorflow_ ? change : rate * change;
    }
  }

 private:
  double alpha_, epsilon_, weightDecay_, momentum_;
  bool variableDecay_, centered_, tensorflow_, half1_, half2_;
};

std::unique_ptr<Optimizer> createRmsProp(const OptimizerSettings& s) {
  return std::make_unique<RmsProp>(s);
}

}  // namespace

PIPESCOPE_REGISTER_OPTIMIZER(rmsprop) {
  registry.add({"rmsprop",
                {{.name = "alpha", .fallback = 0.99, .most = kMostDecay, .help = "Decay of the mean square."},
                 epsilon(1e-8, kLeastEpsilon, "Added to the root of the mean square."),
                 weightDecay(0),
                 variableDecay(),
                 momentum(0),
                 {.name = "centered",
                  .most = 1,
                  .help = "Subtract the squared mean gradient from the mean square.",
                  .isSwitch = true},
                 {.name = "tensorflow_variant",
                  .most = 1,
                  .help = "Add epsilon under the root, and take the learning rate into the velocity.",
                  .isSwitch = true},
                 halfState("half_moment1", "Keep the mean gradient and the velocity in float16."),
                 halfState("half_moment2", "Keep the mean square in float16.")},
                createRmsProp});
}

}  // namespace pipescope::optimizers
