// AdamW (Loshchilov, Hutter: "Decoupled weight decay regularization", ICLR 2019), with bias correction:
//   m ← β1·m + (1 − β1)·g,  v ← β2·v + (1 − β2)·g²,  u = (m / (1 − β1ᵗ)) / (√(v / (1 − β2ᵗ)) + ε),
//   w ← w − learning_rate·(u + weight_decay·w)
// Without bias_correction, m and v are not divided by 1 − βᵗ.
#define EIGEN_DONT_PARALLELIZE
#include <Eigen/Core>
#include <cmath>

#include "engine/optimizers/common_settings.h"
#include "engine/optimizers/optimizer.h"

namespace pipescope::optimizers {
namespace {

struct AdamWSettings {
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weightDecay = 0.01;
  bool biasCorrection = true, half1 = false, half2 = false;
};

using Values = Eigen::Map<Eigen::ArrayXf>;
using ConstValues = Eigen::Map<const Eigen::ArrayXf>;

Values valuesOf(std::span<float> span) {
  return {span.data(), static_cast<Eigen::Index>(span.size())};
}

class AdamW : public Optimizer {
 public:
  explicit AdamW(AdamWSettings settings) : settings_(settings) {}

  std::string name() const override { return "adamw"; }

  std::vector<StateTensor> stateOf(const graph::TensorType& parameter) const override {
    return {stateLike("moment1", parameter, settings_.half1),
            stateLike("moment2", parameter, settings_.half2)};
  }

  std::vector<ops::Work> workOf(const graph::TensorType& parameter, double divisor) const override {
    return UpdateWork(parameter)
        .mapIf(divisor != 1, ops::MapFunction::multiply, 1, "Mean")
        .map(ops::MapFunction::scaledAdd, 2, "Moment1")
        .map(ops::MapFunction::squareScaledAdd, 2, "Moment2")
        .map(ops::MapFunction::adamStep, 2, "Direction")
        .map(ops::MapFunction::scaledAdd, 2, "Step")
        .done();
  }

  void update(const Update& u) const override {
    const auto t = static_cast<double>(u.step);
    const auto beta1 = static_cast<float>(settings_.beta1), beta2 = static_cast<float>(settings_.beta2);
    const auto keep1 = static_cast<float>(1 - settings_.beta1),
               keep2 = static_cast<float>(1 - settings_.beta2);
    const bool corrects = settings_.biasCorrection;
    const float correction1 = corrects ? static_cast<float>(1 - std::pow(settings_.beta1, t)) : 1.0F;
    const float correction2 = corrects ? static_cast<float>(1 - std::pow(settings_.beta2, t)) : 1.0F;
    const auto epsilon = static_cast<float>(settings_.epsilon),
               decay = u.decays ? static_cast<float>(settings_.weightDecay) : 0.0F;
    const auto rate = static_cast<float>(learningRate());
    // A block of fixed length stays in the first-level cache during the four passes, and needs no heap
    // memory.
    constexpr std::size_t kBlock = 512;
    for (std::size_t start = 0; start < u.weights.size(); start += kBlock) {
      const std::size_t count = std::min(kBlock, u.weights.size() - start);
      Values w = valuesOf(u.weights.subspan(start, count));
      Values m = valuesOf(u.state[0].subspan(start, count)), v = valuesOf(u.state[1].subspan(start, count));
      const ConstValues sum(u.gradients.data() + start, static_cast<Eigen::Index>(count));
      Eigen::Array<float, Eigen::Dynamic, 1, 0, static_cast<int>(kBlock), 1> g =
          sum / static_cast<float>(u.divisor);
      m = beta1 * m + keep1 * g;
      v = beta2 * v + keep2 * (g * g);
      w -= rate * ((m / correction1) / ((v / correction2).sqrt() + epsilon) + decay * w);
    }
  }

 private:
  AdamWSettings settings_;
};

std::unique_ptr<Optimizer> createAdamW(const OptimizerSettings& s) {
  return std::make_unique<AdamW>(AdamWSettings{s.at("beta1"), s.at("beta2"), s.at("epsilon"),
                                               s.at("weight_decay"), s.at("bias_correction") != 0,
                                               s.at("half_moment1") != 0, s.at("half_moment2") != 0});
}

}  // namespace

PIPESCOPE_REGISTER_OPTIMIZER(adamw) {
  registry.add({"adamw",
                {beta1(), beta2(), epsilon(1e-8, 0), weightDecay(0.01), biasCorrection(), halfMoment1(),
                 halfMoment2()},
                createAdamW});
}

}  // namespace pipescope::optimizers
