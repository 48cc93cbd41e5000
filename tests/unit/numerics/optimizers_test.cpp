#include "engine/optimizers/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "engine/optimizers/learning_rate.h"
#include "engine/optimizers/optimizer_keys.h"

namespace pipescope::optimizers {
namespace {

/// One parameter that a rule updates.
struct One {
  std::unique_ptr<Optimizer> rule;
  std::vector<float> weight;
  std::vector<std::vector<float>> state;
  std::int64_t step = 0;
  bool decays = true;

  One(const std::string& name, const std::map<std::string, double>& settings,
      std::vector<float> start = {1.0F})
      : weight(std::move(start)) {
    auto made = createOptimizer(name, settings);
    PIPESCOPE_CHECK(made.ok(), made.error().message);
    rule = std::move(*made);
    const auto count = static_cast<std::int64_t>(weight.size());
    for (const StateTensor& tensor : rule->stateOf({graph::ElementType::float32, {count}})) {
      state.emplace_back(static_cast<std::size_t>(tensor.type.elements()), 0.0F);
    }
  }
  double update(float gradient, double divisor = 1) {
    updateAll(std::vector<float>{gradient}, divisor);
    return static_cast<double>(weight[0]);
  }
  void updateAll(const std::vector<float>& gradients, double divisor = 1) {
    std::vector<std::span<float>> spans(state.begin(), state.end());
    Update all{++step, divisor, weight, gradients, spans, {}, decays};
    std::vector<double> sums(rule->sumCount());
    if (!sums.empty()) rule->measure(all, sums);
    all.sums = sums;
    rule->update(all);
  }
};

std::string optimizersRefusal(const std::string& name, const std::map<std::string, double>& settings) {
  const auto made = createOptimizer(name, settings);
  return made.ok() ? "" : made.error().message;
}

// Figures of the rules of PopTorch and PyTorch, computed by hand in double precision.
TEST(AdamW, FollowsItsFormula) {
  One one("adamw", {{"learning_rate", 0.1}, {"weight_decay", 0.01}});
  EXPECT_NEAR(one.update(0.5F), 0.899000002, 1e-7);
  EXPECT_NEAR(one.update(-0.25F), 0.8714672987, 1e-7);
}

// A decay that may come later costs an update the same as one that is there.
TEST(VariableDecay, IsComputedWhileItIsZero) {
  const graph::TensorType type{graph::ElementType::float32, {8}};
  for (const char* name : {"sgd", "adam", "rmsprop", "lamb"}) {
    const auto passes = [&](double decay, double varies) {
      auto rule = createOptimizer(name, {{"weight_decay", decay}, {"variable_decay", varies}});
      return rule.ok() ? (*rule)->workOf(type, 1).size() : 0;
    };
    EXPECT_EQ(passes(0, 1), passes(0.5, 0)) << name;
    EXPECT_EQ(passes(0, 1), passes(0, 0) + 1) << name;
  }
}

TEST(Settings, OfALoadedStateMayBeAnyFiniteRateAndDecay) {
  const std::map<std::string, double> below{{"learning_rate", -0.5}, {"weight_decay", -0.25}};
  EXPECT_NE(optimizersRefusal("sgd", below).find("weight_decay is -0.25; it must be 0 to"),
            std::string::npos);
  const auto rule = createOptimizer("sgd", below, SettingRanges::anyRateAndDecay);
  ASSERT_TRUE(rule.ok());
  EXPECT_EQ((*rule)->learningRate(), -0.5);
  for (const auto& [key, value] : std::map<std::string, double>{{"momentum", -1}, {"learning_rate", NAN}})
    EXPECT_FALSE(createOptimizer("sgd", {{key, value}}, SettingRanges::anyRateAndDecay).ok()) << key;
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

TEST(AdamW, MayDoWithoutBiasCorrection) {
  One one("adamw", {{"learning_rate", 0.1}, {"weight_decay", 0.01}, {"bias_correction", 0}});
  double w = 1, m = 0, v = 0;
  for (int t = 1; t <= 5; ++t) {
    const double g = std::cos(t);
    m = 0.9 * m + 0.1 * g;
    v = 0.999 * v + 0.001 * g * g;
    w -= 0.1 * (m / (std::sqrt(v) + 1e-8) + 0.01 * w);
    EXPECT_NEAR(one.update(static_cast<float>(g)), w, 1e-5) << t;
  }
}

// TensorFlow's own test computes its rule so (rmsprop_update_numpy in rmsprop_test.py).
TEST(RmsProp, HasTensorFlowsVariant) {
  for (const double centered : {0.0, 1.0}) {
    One one("rmsprop", {{"learning_rate", 0.02},
                        {"alpha", 0.9},
                        {"epsilon", 1e-2},
                        {"momentum", 0.5},
                        {"weight_decay", 0.1},
                        {"centered", centered},
                        {"tensorflow_variant", 1}});
    double w = 1, mean = 0, square = 0, velocity = 0;
    for (int t = 1; t <= 20; ++t) {
      const double g = std::sin(t) + 0.1 * w;
      square = 0.9 * square + 0.1 * g * g;
      mean = 0.9 * mean + 0.1 * g;
      const double spread = square + 1e-2 - centered * mean * mean;
      velocity = 0.5 * velocity + 0.02 * g / std::sqrt(spread);
      w -= velocity;
      EXPECT_NEAR(one.update(static_cast<float>(std::sin(t))), w, 1e-5) << t;
    }
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

TEST(Sgd, LooksAheadWithNesterov) {
  // Computed by hand: v = .5 + .01 = .51, step .51·.9 + .51 = .969; then v = .9·.51 + .5 + .01·w.
  One one("sgd", {{"learning_rate", 0.1}, {"momentum", 0.9}, {"weight_decay", 0.01}, {"nesterov", 1}});
  double w = 1, v = 0;
  for (int t = 0; t < 5; ++t) {
    v = 0.9 * v + 0.5 + 0.01 * w;
    w -= 0.1 * (0.5 + 0.01 * w + 0.9 * v);
    EXPECT_NEAR(one.update(2.0F, 4), w, 1e-6) << t;
  }
  EXPECT_EQ(optimizersRefusal("sgd", {{"nesterov", 1}}),
            "optimizer sgd: nesterov needs momentum; set a momentum above 0, or leave it out");
}

TEST(Adam, DecaysThroughTheGradient) {
  // execution semantics §5.6: w = 1, lr = .1, β .9/.999, ε 1e−8, wd .01, g = .5 then −.25.
  One one("adam", {{"learning_rate", 0.1}, {"weight_decay", 0.01}});
  EXPECT_NEAR(one.update(0.5F), 0.90000000196, 1e-7);
  EXPECT_NEAR(one.update(-0.25F), 0.8712293476, 1e-7);
}

TEST(Lamb, ScalesByTheNorms) {
  // §5.7: w = (3, 4), g = (.3, −.4), lr = .01, step 1.
  One corrected("lamb", {{"learning_rate", 0.01}}, {3, 4});
  corrected.updateAll({0.3F, -0.4F});
  EXPECT_NEAR(corrected.weight[0], 2.9634237, 1e-6);
  EXPECT_NEAR(corrected.weight[1], 4.0340906, 1e-6);
  One plain("lamb", {{"learning_rate", 0.01}, {"bias_correction", 0}}, {3, 4});
  plain.updateAll({1.2F, -1.6F}, 4);
  EXPECT_NEAR(plain.weight[0], 2.9642549, 1e-6);
  EXPECT_NEAR(plain.weight[1], 4.0349613, 1e-6);
}

TEST(Lamb, BoundsTheWeightNormAndTakesZeroNorms) {
  // ‖w‖ = 5 counts as 1, so the step is a fifth.
  One bounded("lamb", {{"learning_rate", 0.01}, {"max_weight_norm", 1}}, {3, 4});
  bounded.updateAll({0.3F, -0.4F});
  EXPECT_NEAR(3 - bounded.weight[0], (3 - 2.9634237) / 5, 1e-6);
  One zero("lamb", {{"learning_rate", 0.01}}, {0, 0});
  zero.updateAll({0.3F, -0.4F});  // ratio 1, m̂/√v̂ = ±1
  EXPECT_NEAR(zero.weight[0], -0.01, 1e-7);
  EXPECT_NEAR(zero.weight[1], 0.01, 1e-7);
  One undecayed("lamb", {{"learning_rate", 0.01}}, {3, 4});
  undecayed.decays = false;
  undecayed.updateAll({0.3F, -0.4F});  // x = (1, −1), ratio 5/√2
  EXPECT_NEAR(undecayed.weight[0], 3 - 0.01 * 5 / std::sqrt(2.0), 1e-6);
}

TEST(Lars, AdaptsByLayer) {
  // §5.8: w = (3, 4), g = (.3, −.4), η = .001, wd = 1e−4, lr = 1, ε = 0: r = .00999001.
  One one("lars", {{"learning_rate", 1}}, {3, 4});
  one.updateAll({0.3F, -0.4F});
  EXPECT_NEAR(3 - one.weight[0], 0.003, 1e-6);
  EXPECT_NEAR(4 - one.weight[1], -0.003992008, 1e-6);
  EXPECT_NEAR(one.state[0][0], 0.003, 1e-8);
  EXPECT_NEAR(one.state[0][1], -0.003992008, 1e-8);
  One biases("lars", {{"learning_rate", 0.1}}, {3, 4});
  biases.decays = false;  // plain momentum
  biases.updateAll({0.3F, -0.4F});
  EXPECT_NEAR(biases.weight[0], 2.97, 1e-6);
  EXPECT_NEAR(biases.weight[1], 4.04, 1e-6);
  One zero("lars", {{"learning_rate", 0.1}, {"momentum", 0}}, {0, 0});
  EXPECT_TRUE(zero.state.empty());
  zero.updateAll({0.3F, -0.4F});
  EXPECT_NEAR(zero.weight[0], -0.03, 1e-7);
}

TEST(Optimizers, LeaveOutDecayWhereAsked) {
  for (const char* name : {"sgd", "adam", "adamw", "adamax", "rmsprop", "lamb", "lars"}) {
    One excluded(name, {{"weight_decay", 0.5}}, {1, 2}), none(name, {{"weight_decay", 0}}, {1, 2}),
        decayed(name, {{"weight_decay", 0.5}}, {1, 2});
    excluded.decays = false;
    none.decays = std::string(name) != "lars";  // LARS also loses its adaptation
    for (One* each : {&excluded, &none, &decayed}) {
      each->updateAll({0.25F, 0.5F});
      each->updateAll({-0.5F, 0.125F});  // The first step of some rules depends on signs only.
    }
    EXPECT_EQ(excluded.weight, none.weight) << name;
    EXPECT_NE(excluded.weight, decayed.weight) << name;
  }
}

// A power of two divides without rounding, so the mean of a sum is the same gradient to the last bit.
TEST(Optimizers, TakeTheMeanOfTheSum) {
  for (const char* name : {"sgd", "adam", "adamw", "adamax", "rmsprop", "lamb", "lars"}) {
    for (const auto& more : {std::map<std::string, double>{}, {{"momentum", 0.5}}, {{"centered", 1}}}) {
      if (!optimizersRefusal(name, more).empty()) continue;
      One sum(name, more, {1, -2, 3}), mean(name, more, {1, -2, 3});
      for (int step = 1; step <= 3; ++step) {
        const float a = 0.3F / static_cast<float>(step), b = -0.7F, c = 0.01F;
        sum.updateAll({8 * a, 8 * b, 8 * c}, 8);
        mean.updateAll({a, b, c});
      }
      EXPECT_EQ(sum.weight, mean.weight) << name;
      EXPECT_EQ(sum.state, mean.state) << name;
    }
  }
}

TEST(OptimizerKeys, HaveTheDefaultsAndWidestRangesOfTheRules) {
  const auto number = [](const char* name, double fallback, double most) {
    return OptimizerSetting{
        .name = name, .fallback = fallback, .least = 0, .most = most, .help = "A number."};
  };
  OptimizerSetting on = number("on", 1, 1), off = number("off", 0, 1);
  on.isSwitch = off.isSwitch = true;
  OptimizerRegistry registry;
  registry.add({.name = "first", .settings = {number("size", 2, 5), on}});
  registry.add({.name = "second", .settings = {number("size", 3, 9), off}});
  const auto valueOf = [](const std::vector<config::Key>& keys, const std::string& path) {
    for (const config::Key& key : keys)
      if (key.path == path) return key;
    return config::Key();
  };
  for (const auto& [keys, prefix] : {std::pair(optimizerKeys(registry), std::string("training.")),
                                     std::pair(groupKeys(registry), std::string("training.groups[]."))}) {
    EXPECT_EQ(valueOf(keys, prefix + "size").fallback, config::Value(2.0));
    EXPECT_EQ(valueOf(keys, prefix + "size").most, 9);
    EXPECT_EQ(valueOf(keys, prefix + "on").fallback, config::Value(true));
    EXPECT_EQ(valueOf(keys, prefix + "off").fallback, config::Value(false));
    EXPECT_EQ(valueOf(keys, prefix + "off").type, config::KeyType::boolean);
  }
  EXPECT_EQ(groupKeys(registry).size(), 5U);  // parameters, learning_rate, size, on, off
}

/// "key=value" words up to the colon.
std::map<std::string, std::string> wordsOf(std::istringstream& line) {
  std::map<std::string, std::string> words;
  for (std::string word; line >> word && word != ":";)
    words[word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
  return words;
}

TEST(Optimizers, EqualPyTorch) {
  std::ifstream file(std::string(PIPESCOPE_TEST_DATA) + "/optimizers.golden");
  int rules = 0, rates = 0;
  for (std::string text; std::getline(file, text);) {
    std::istringstream line(text);
    std::string kind, name;
    line >> kind >> name;
    const std::map<std::string, std::string> words = wordsOf(line);
    if (kind == "rule") {
      ++rules;
      std::map<std::string, double> settings;
      for (const auto& [key, value] : words) settings[key] = std::stod(value);
      One one(name, settings, {1.0F, -2.0F, 0.5F, 3.0F});
      for (int step = 0; step < 10; ++step) {
        std::vector<float> gradients;
        for (int i = 0; i < 4; ++i) gradients.push_back(static_cast<float>(std::sin(1.0 + step + 0.7 * i)));
        one.updateAll(gradients);
      }
      for (const float weight : one.weight) {
        double expected = 0;
        line >> expected;
        EXPECT_NEAR(weight, expected, 2e-6 * (1 + std::abs(expected))) << text;
      }
    } else {
      ++rates;
      LearningRateSchedule schedule;
      schedule.kind = name;
      for (const auto& [key, value] : words) {
        if (key == "base") schedule.base = std::stod(value);
        if (key == "gamma") schedule.gamma = std::stod(value);
        if (key == "end") schedule.end = std::stod(value);
        if (key == "power") schedule.power = std::stod(value);
        if (key == "total") schedule.total = std::stoll(value);
        if (key == "stepSize") schedule.stepSize = std::stoll(value);
        std::istringstream list(value);
        for (std::string number; key == "milestones" && std::getline(list, number, ',');)
          schedule.milestones.push_back(std::stoll(number));
      }
      ASSERT_TRUE(schedule.check().ok());
      for (std::int64_t t = 0; t < 12; ++t) {
        double expected = 0;
        line >> expected;
        EXPECT_NEAR(schedule.at(t), expected, 1e-9) << text << " update " << t;
      }
    }
  }
  EXPECT_EQ(rules, 10);
  EXPECT_EQ(rates, 6);
}

TEST(LearningRate, WarmsUpThenFollowsItsSchedule) {
  LearningRateSchedule s;
  s.base = 0.8;
  s.warmUp = 3;
  EXPECT_DOUBLE_EQ(s.at(0), 0.2);
  EXPECT_DOUBLE_EQ(s.at(1), 0.4);
  EXPECT_NEAR(s.at(2), 0.6, 1e-15);
  EXPECT_DOUBLE_EQ(s.at(3), 0.8);
  EXPECT_DOUBLE_EQ(s.at(1000), 0.8);
  s.kind = "linear";
  s.total = 11;
  EXPECT_DOUBLE_EQ(s.at(3), 0.8);
  EXPECT_DOUBLE_EQ(s.at(7), 0.4);
  EXPECT_DOUBLE_EQ(s.at(11), 0.0);
  EXPECT_DOUBLE_EQ(s.at(50), 0.0);
}

TEST(LearningRate, APolynomialEndsAtItsLastRate) {
  LearningRateSchedule s;
  s.kind = "polynomial";
  s.base = 1;
  s.end = 0.2;
  s.power = 2;
  s.total = 8;
  EXPECT_DOUBLE_EQ(s.at(0), 1);
  EXPECT_DOUBLE_EQ(s.at(4), 0.4);  // a quarter of the way from 0.2 to 1
  EXPECT_DOUBLE_EQ(s.at(8), 0.2);
}

TEST(LearningRate, RefusesWhatMakesNoSense) {
  LearningRateSchedule s;
  s.kind = "cosin";
  EXPECT_EQ(s.check().error().message,
            "the learning-rate schedule cosin is not known; known are constant, cosine, exponential, linear, "
            "multi_step, polynomial, step");
  s.kind = "multi_step";
  EXPECT_EQ(s.check().error().message,
            "the learning-rate schedule multi_step has the milestones []; give at least one, ascending");
  s.milestones = {5, 3};
  EXPECT_EQ(s.check().error().message,
            "the learning-rate schedule multi_step has the milestones [5, 3]; give at least one, ascending");
  s.kind = "cosine";
  s.warmUp = s.total = 10;
  EXPECT_EQ(
      s.check().error().message,
      "the learning-rate schedule cosine ends at 10, but its warm-up takes 10; make the warm-up shorter");
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

TEST(Optimizers, KeepStateInHalfWhereAsked) {
  const graph::TensorType parameter{graph::ElementType::float32, {20, 10}};
  const auto bytes = [&](const std::string& rule, const std::map<std::string, double>& settings) {
    std::vector<std::int64_t> all;
    for (const StateTensor& state : (*createOptimizer(rule, settings))->stateOf(parameter))
      all.push_back(state.type.bytes().count);
    return all;
  };
  using Bytes = std::vector<std::int64_t>;
  for (const char* rule : {"adam", "adamw", "lamb"}) {
    EXPECT_EQ(bytes(rule, {{"half_moment1", 1}}), (Bytes{400, 800})) << rule;
    EXPECT_EQ(bytes(rule, {{"half_moment2", 1}}), (Bytes{800, 400})) << rule;
  }
  EXPECT_EQ(bytes("sgd", {{"momentum", 0.9}, {"half_velocity", 1}}), (Bytes{400}));
  EXPECT_EQ(bytes("rmsprop", {{"momentum", 0.9}, {"centered", 1}, {"half_moment1", 1}}),
            (Bytes{800, 400, 400}));
  EXPECT_EQ(bytes("rmsprop", {{"momentum", 0.9}, {"half_moment2", 1}}), (Bytes{400, 800}));
}

TEST(Optimizers, LearningRateMoves) {
  One one("sgd", {});
  EXPECT_EQ(one.rule->learningRate(), 1e-3);
  one.rule->setLearningRate(0.5);
  EXPECT_NEAR(one.update(1.0F), 0.5, 1e-7);
}

TEST(Optimizers, RefuseWithNameAndRange) {
  EXPECT_EQ(optimizersRefusal("adamv", {}), "optimizer adamv is not known; did you mean adam?");
  EXPECT_EQ(optimizersRefusal("newton_raphson", {}),
            "optimizer newton_raphson is not known; known are adam, adamax, adamw, lamb, lars, "
            "rmsprop, sgd");
  EXPECT_EQ(optimizersRefusal("adamw", {{"beta3", 0.5}}),
            "optimizer adamw has no setting beta3; did you mean beta1?");
  EXPECT_EQ(optimizersRefusal("sgd", {{"rho", 1}}),
            "optimizer sgd has no setting rho; known are momentum, dampening, weight_decay, "
            "variable_decay, velocity_scaling, nesterov, half_velocity, learning_rate");
  EXPECT_EQ(optimizersRefusal("sgd", {{"half_velocity", 1}}),
            "optimizer sgd: half_velocity needs momentum; set a momentum above 0, or leave it out");
  EXPECT_EQ(optimizersRefusal("adamw", {{"beta1", 1}}),
            "optimizer adamw: beta1 is 1; it must be 0 to 0.9999999");
  EXPECT_EQ(optimizersRefusal("adamw", {{"learning_rate", std::nan("")}}),
            "optimizer adamw: learning_rate is nan; it must be 0 to 1000000");
}

}  // namespace
}  // namespace pipescope::optimizers
