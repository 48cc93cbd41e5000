#include "engine/numerics/optimizers/optimizer.h"

#include <cmath>

namespace pipescope::optimizers {
namespace {

/// One weight under a rule.
struct One {
  std::unique_ptr<Optimizer> rule;
  std::vector<float> weight{1.0F};
  std::vector<std::vector<float>> state;
  std::int64_t step = 0;

  One(const std::string& name, const std::map<std::string, double>& settings) {
    auto made = createOptimizer(name, settings);
    PIPESCOPE_CHECK(made.ok(), made.error().message);
    rule = std::move(*made);
    for (const StateTensor& tensor : rule->stateOf({graph::ElementType::float32, {1}})) {
      state.emplace_back(static_cast<std::size_t>(tensor.type.elements()), 0.0F);
    }
  }
  double update(float gradient, double divisor = 1) {
    std::vector<std::span<float>> spans(state.begin(), state.end());
    const std::vector<float> gradients{gradient};
    rule->update({++step, divisor, weight, gradients, spans});
    return static_cast<double>(weight[0]);
  }
};

std::string refusal(const std::string& name, const std::map<std::string, double>& settings) {
  const auto made = createOptimizer(name, settings);
  return made.ok() ? "" : made.error().message;
}

// Figures of PopTorch's and PyTorch's rules, computed by hand in double precision.
TEST(AdamW, FollowsItsFormula) {
  One one("adamw", {{"learning_rate", 0.1}, {"weight_decay", 0.01}});
  EXPECT_NEAR(one.update(0.5F), 0.899000002, 1e-7);
  EXPECT_NEAR(one.update(-0.25F), 0.8714672987, 1e-7);
}

TEST(AdamW, TakesTheMeanOfTheSum) {
  One one("adamw", {{"learning_rate", 0.1}, {"weight_decay", 0.01}});
  EXPECT_NEAR(one.update(2.0F, 4), 0.899000002, 1e-7);
  EXPECT_NEAR(one.update(-1.0F, 4), 0.8714672987, 1e-7);
}

TEST(AdamW, HonoursEverySetting) {
  // The same recurrence in double precision with uncommon settings.
  const double rate = 0.02, beta1 = 0.7, beta2 = 0.95, epsilon = 1e-3, decay = 0.3;
  One one("adamw", {{"learning_rate", rate},
                    {"beta1", beta1},
                    {"beta2", beta2},
                    {"epsilon", epsilon},
                    {"weight_decay", decay}});
  double w = 1, m = 0, v = 0;
  for (int t = 1; t <= 20; ++t) {
    const double g = std::sin(t);
    m = beta1 * m + (1 - beta1) * g;
    v = beta2 * v + (1 - beta2) * g * g;
    w -= rate *
         (m / (1 - std::pow(beta1, t)) / (std::sqrt(v / (1 - std::pow(beta2, t))) + epsilon) + decay * w);
    EXPECT_NEAR(one.update(static_cast<float>(g)), w, 1e-5) << t;
  }
}

TEST(AdamW, GivesTheSameBitsInRanges) {
  const std::size_t count = 1500;
  std::vector<float> gradients(count), whole(count, 1.0F), parts(count, 1.0F);
  for (std::size_t i = 0; i < count; ++i) gradients[i] = std::sin(static_cast<float>(i));
  std::vector<std::vector<float>> stateWhole(2, std::vector<float>(count)), stateParts = stateWhole;
  const auto rule = std::move(*createOptimizer("adamw", {}));
  for (std::int64_t step = 1; step <= 3; ++step) {
    const std::vector<std::span<float>> all(stateWhole.begin(), stateWhole.end());
    rule->update({step, 3, whole, gradients, all});
    for (std::size_t first = 0; first < count; first += 77) {
      const std::size_t length = std::min<std::size_t>(77, count - first);
      const std::vector<std::span<float>> some{std::span(stateParts[0]).subspan(first, length),
                                               std::span(stateParts[1]).subspan(first, length)};
      rule->update({step, 3, std::span(parts).subspan(first, length),
                    std::span(gradients).subspan(first, length), some});
    }
  }
  EXPECT_EQ(whole, parts);
}

TEST(Sgd, IsPlainByDefault) {
  One one("sgd", {{"learning_rate", 0.1}});
  EXPECT_TRUE(one.state.empty());
  EXPECT_NEAR(one.update(0.5F), 0.95, 1e-7);
  EXPECT_NEAR(one.update(4.0F, 4), 0.85, 1e-7);
}

TEST(Sgd, FollowsPopTorchsFormulaWithMomentum) {
  // w = 1, v = 0, mean gradient .5 from a sum over 4, lr .1, mm .9, dm 0, wd .01, vs 1: v = .51, w = .949;
  // again: v = .96849, w = .852151.
  One one("sgd", {{"learning_rate", 0.1}, {"momentum", 0.9}, {"weight_decay", 0.01}});
  EXPECT_NEAR(one.update(2.0F, 4), 0.949, 1e-6);
  EXPECT_NEAR(one.state[0][0], 0.51, 1e-6);
  EXPECT_NEAR(one.update(2.0F, 4), 0.852151, 1e-6);
  EXPECT_NEAR(one.state[0][0], 0.96849, 1e-6);
}

TEST(Sgd, HonoursEverySetting) {
  One one("sgd", {{"learning_rate", 0.1},
                  {"momentum", 0.5},
                  {"dampening", 0.2},
                  {"weight_decay", 0.1},
                  {"velocity_scaling", 8}});
  double w = 1, v = 0;
  for (int t = 1; t <= 10; ++t) {
    const double g = std::cos(t);
    v = 0.5 * v + 0.8 * 8 * g + 0.8 * 0.1 * 8 * w;
    w -= 0.1 / 8 * v;
    EXPECT_NEAR(one.update(static_cast<float>(g)), w, 1e-5) << t;
  }
}

TEST(Optimizers, SayTheirStateAndWork) {
  const graph::TensorType parameter{graph::ElementType::float32, {20, 10, 5, 5}};
  const auto adamw = std::move(*createOptimizer("adamw", {}));
  ASSERT_EQ(adamw->stateOf(parameter).size(), 2U);
  EXPECT_EQ(adamw->stateOf(parameter)[0].name, "moment1");
  EXPECT_EQ(adamw->stateOf(parameter)[1].type.bytes().count, 20000);
  EXPECT_EQ(adamw->workOf(parameter, 1).size(), 4U);
  EXPECT_EQ(adamw->workOf(parameter, 10).size(), 5U);
  const auto sgd = std::move(*createOptimizer("sgd", {}));
  EXPECT_EQ(sgd->workOf(parameter, 1).size(), 1U);
  const auto heavy = std::move(*createOptimizer("sgd", {{"momentum", 0.9}, {"weight_decay", 0.1}}));
  ASSERT_EQ(heavy->stateOf(parameter).size(), 1U);
  EXPECT_EQ(heavy->stateOf(parameter)[0].name, "velocity");
  EXPECT_EQ(heavy->workOf(parameter, 10).size(), 4U);
  for (const ops::Work& work : heavy->workOf(parameter, 10))
    EXPECT_EQ(std::get<ops::Map>(work.item).elements, 5000);
}

TEST(Optimizers, LearningRateMoves) {
  One one("sgd", {});
  EXPECT_EQ(one.rule->learningRate(), 1e-3);
  one.rule->setLearningRate(0.5);
  EXPECT_NEAR(one.update(1.0F), 0.5, 1e-7);
}

TEST(Optimizers, RefuseWithNameAndRange) {
  EXPECT_EQ(refusal("adam", {}), "optimizer adam is not known; did you mean adamw?");
  EXPECT_EQ(refusal("newton_raphson", {}), "optimizer newton_raphson is not known; known are adamw, sgd");
  EXPECT_EQ(refusal("adamw", {{"beta3", 0.5}}), "optimizer adamw has no setting beta3; did you mean beta1?");
  EXPECT_EQ(refusal("sgd", {{"rho", 1}}),
            "optimizer sgd has no setting rho; known are momentum, dampening, weight_decay, "
            "velocity_scaling, learning_rate");
  EXPECT_EQ(refusal("adamw", {{"beta1", 1}}), "optimizer adamw: beta1 is 1; it must be 0 to 0.9999999");
  EXPECT_EQ(refusal("adamw", {{"learning_rate", std::nan("")}}),
            "optimizer adamw: learning_rate is nan; it must be 0 to 1000000");
}

}  // namespace
}  // namespace pipescope::optimizers
