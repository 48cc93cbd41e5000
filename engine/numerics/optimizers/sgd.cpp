// Stochastic gradient descent as PopTorch and PopART do it:
//   v ← momentum·v + (1 − dampening)·vs·g + (1 − dampening)·weight_decay·vs·w,   w ← w − (learning_rate /
//   vs)·v
// with the mean gradient g and velocity scaling vs. The first step applies dampening too (PyTorch's copies
// the raw gradient then). Without momentum there is no state.
#include "engine/numerics/optimizers/optimizer.h"

namespace pipescope::optimizers {
namespace {

struct SgdSettings {
  double momentum = 0, dampening = 0, weightDecay = 0, velocityScaling = 1;
};

class Sgd : public Optimizer {
 public:
  explicit Sgd(SgdSettings settings) : settings_(settings) {}

  std::string name() const override { return "sgd"; }

  std::vector<StateTensor> stateOf(const graph::TensorType& parameter) const override {
    if (settings_.momentum == 0) return {};
    return {{"velocity", parameter}};
  }

  std::vector<ops::Work> workOf(const graph::TensorType& parameter, double divisor) const override {
    const std::int64_t n = parameter.elements();
    std::vector<ops::Work> work;
    const auto add = [&](const char* function, std::int64_t operands, const char* label) {
      work.push_back({ops::Map{function, n, operands, parameter.element, true}, 1, label});
    };
    if (divisor != 1) add("multiply", 1, "Mean");
    if (settings_.weightDecay != 0) add("scaled_add", 2, "WeightDecay");
    if (settings_.momentum != 0) add("scaled_add", 2, "Velocity");
    add("scaled_add", 2, "Step");
    return work;
  }

  void update(const Update& u) const override {
    const double gradientFactor = (1 - settings_.dampening) * settings_.velocityScaling;
    const auto fromGradient = static_cast<float>(gradientFactor);
    const auto fromWeight = static_cast<float>(gradientFactor * settings_.weightDecay);
    const auto momentum = static_cast<float>(settings_.momentum);
    const auto rate = static_cast<float>(learningRate() / settings_.velocityScaling);
    const auto divisor = static_cast<float>(u.divisor);
    float* velocity = u.state.empty() ? nullptr : u.state[0].data();
    for (std::size_t i = 0; i < u.weights.size(); ++i) {
      float change = fromGradient * (u.gradients[i] / divisor) + fromWeight * u.weights[i];
      if (velocity) velocity[i] = change = momentum * velocity[i] + change;
      u.weights[i] -= rate * change;
    }
  }

 private:
  SgdSettings settings_;
};

std::unique_ptr<Optimizer> create(const std::map<std::string, double>& s) {
  return std::make_unique<Sgd>(
      SgdSettings{s.at("momentum"), s.at("dampening"), s.at("weight_decay"), s.at("velocity_scaling")});
}

}  // namespace

PIPESCOPE_REGISTER_OPTIMIZER(sgd) {
  registry.add({"sgd",
                {{"momentum", 0, 0, 1},
                 {"dampening", 0, 0, 1},
                 {"weight_decay", 0, 0, 1e6},
                 {"velocity_scaling", 1, 1e-6, 1e6}},
                create});
}

}  // namespace pipescope::optimizers
