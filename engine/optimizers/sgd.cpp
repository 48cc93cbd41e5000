// Stochastic gradient descent as PopTorch and PopART do it:
//   v ← momentum·v + (1 − dampening)·vs·g + (1 − dampening)·weight_decay·vs·w,   w ← w − (learning_rate /
//   vs)·v
// with the mean gradient g and velocity scaling vs. The first step applies dampening too (PyTorch's copies
// the raw gradient then). With Nesterov's momentum the weights move by vs·(g + weight_decay·w) + momentum·v
// instead of v. Without momentum there is no state.
#include "engine/optimizers/common_settings.h"
#include "engine/optimizers/optimizer.h"

namespace pipescope::optimizers {
namespace {

struct SgdSettings {
  double momentum = 0, dampening = 0, weightDecay = 0, velocityScaling = 1;
  bool nesterov = false, halfVelocity = false, variableDecay = false;
};

class Sgd : public Optimizer {
 public:
  explicit Sgd(SgdSettings settings) : settings_(settings) {}

  std::string name() const override { return "sgd"; }

  std::vector<StateTensor> stateOf(const graph::TensorType& parameter) const override {
    if (settings_.momentum == 0) return {};
    return {stateLike("velocity", parameter, settings_.halfVelocity)};
  }

  std::vector<ops::Work> workOf(const graph::TensorType& parameter, double divisor) const override {
    return UpdateWork(parameter)
        .mapIf(divisor != 1, ops::MapFunction::multiply, 1, "Mean")
        .mapIf(settings_.weightDecay != 0 || settings_.variableDecay, ops::MapFunction::scaledAdd, 2,
               "WeightDecay")
        .mapIf(settings_.momentum != 0, ops::MapFunction::scaledAdd, 2, "Velocity")
        .mapIf(settings_.nesterov, ops::MapFunction::scaledAdd, 2, "LookAhead")
        .map(ops::MapFunction::scaledAdd, 2, "Step")
        .done();
  }

  void update(const Update& u) const override {
    const double gradientFactor = (1 - settings_.dampening) * settings_.velocityScaling;
    const double decay = u.decays ? settings_.weightDecay : 0;
    const auto fromGradient = static_cast<float>(gradientFactor);
    const auto fromWeight = static_cast<float>(gradientFactor * decay);
    const auto momentum = static_cast<float>(settings_.momentum);
    const auto rate = static_cast<float>(learningRate() / settings_.velocityScaling);
    const auto divisor = static_cast<float>(u.divisor);
    const auto scaling = static_cast<float>(settings_.velocityScaling);
    const auto ahead = static_cast<float>(settings_.velocityScaling * decay);
    float* velocity = u.state.empty() ? nullptr : u.state[0].data();
    for (std::size_t i = 0; i < u.weights.size(); ++i) {
      const float gradient = u.gradients[i] / divisor;
      float change = fromGradient * gradient + fromWeight * u.weights[i];
      if (velocity) velocity[i] = change = momentum * velocity[i] + change;
      if (settings_.nesterov) change = scaling * gradient + ahead * u.weights[i] + momentum * change;
      u.weights[i] -= rate * change;
    }
  }

 private:
  SgdSettings settings_;
};

std::unique_ptr<Optimizer> createSgd(const OptimizerSettings& s) {
  return std::make_unique<Sgd>(SgdSettings{s.at("momentum"), s.at("dampening"), s.at("weight_decay"),
                                           s.at("velocity_scaling"), s.at("nesterov") != 0,
                                           s.at("half_velocity") != 0, s.at("variable_decay") != 0});
}

base::Status checkSgd(const OptimizerSettings& s) {
  if (s.at("half_velocity") != 0 && s.at("momentum") == 0)
    return base::badInput(
        "optimizer sgd: half_velocity needs momentum; set a momentum above 0, or leave it out");
  if (s.at("nesterov") != 0 && s.at("momentum") == 0)
    return base::badInput("optimizer sgd: nesterov needs momentum; set a momentum above 0, or leave it out");
  return {};
}

}  // namespace

PIPESCOPE_REGISTER_OPTIMIZER(sgd) {
  registry.add(
      {"sgd",
       {momentum(0),
        {.name = "dampening",
         .most = 1,
         .help = "Share of the gradient that the velocity leaves out, in the first step too."},
        weightDecay(0),
        variableDecay(),
        {.name = "velocity_scaling",
         .fallback = 1,
         .least = 1e-6,
         .most = 1e6,
         .help = "Factor of the velocity, for half precision."},
        {.name = "nesterov", .most = 1, .help = "Nesterov's momentum.", .isSwitch = true, .hasFlag = true},
        halfState("half_velocity", "Keep the velocity in float16.")},
       createSgd,
       checkSgd});
}

}  // namespace pipescope::optimizers
