#include "engine/ops/core/lane_math.h"

#include <gtest/gtest.h>

#include <functional>

namespace pipescope::ops {
namespace {

/// The distance from the exact value, in units of the last place of the result's binade.
double ulps(float actual, double exact) {
  const double a = std::fabs(exact);
  if (a < static_cast<double>(std::numeric_limits<float>::min()))
    return std::fabs(static_cast<double>(actual) - exact) / 0x1p-149;
  return std::fabs(static_cast<double>(actual) - exact) / std::ldexp(1.0, std::ilogb(a) - 23);
}

double worst(float (*f)(float), double (*exact)(double), float from, float to) {
  double most = 0;
  const int steps = 400000;
  for (int i = 0; i <= steps; ++i) {
    const float x = static_cast<float>(static_cast<double>(from) +
                                       (static_cast<double>(to) - static_cast<double>(from)) * i / steps);
    const double value = exact(static_cast<double>(x));
    if (std::fabs(value) > static_cast<double>(std::numeric_limits<float>::max())) continue;
    most = std::max(most, ulps(f(x), value));
  }
  return most;
}

TEST(LaneMath, StaysWithinTwoUnitsInTheLastPlace) {
  EXPECT_LE(worst(lanes::exp, std::exp, -104.0F, 88.7F), 2.0);
  EXPECT_LE(worst(lanes::exp, std::exp, -1.0F, 1.0F), 2.0);
  EXPECT_LE(worst(lanes::log, std::log, 1e-40F, 1e-37F), 2.0);
  EXPECT_LE(worst(lanes::log, std::log, 0.5F, 2.0F), 2.0);
  EXPECT_LE(worst(lanes::log, std::log, 1.0F, 1e30F), 2.0);
  EXPECT_LE(worst(lanes::tanh, std::tanh, -10.0F, 10.0F), 2.0);
  EXPECT_LE(worst(lanes::tanh, std::tanh, -1e-3F, 1e-3F), 2.0);
  EXPECT_LE(worst(lanes::erf, std::erf, -5.0F, 5.0F), 2.0);
  EXPECT_LE(worst(lanes::erf, std::erf, -1e-3F, 1e-3F), 2.0);
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  EXPECT_LE(worst(lanes::sigmoid<float>, sigmoid, -100.0F, 30.0F), 3.0);  // one more division
}

TEST(LaneMath, QuickErfIsWithinItsBound) {
  for (int i = -600000; i <= 600000; ++i) {
    const float x = static_cast<float>(i) * 1e-5F;
    ASSERT_NEAR(static_cast<double>(lanes::quickErf(x)), std::erf(static_cast<double>(x)), 3e-7) << x;
  }
  EXPECT_EQ(lanes::quickErf(-100.0F), -1.0F);
  EXPECT_EQ(lanes::quickErf(std::numeric_limits<float>::infinity()), 1.0F);
  EXPECT_TRUE(std::isnan(lanes::quickErf(std::numeric_limits<float>::quiet_NaN())));
}

TEST(LaneMath, TakesInfinitiesNanAndZero) {
  const float infinity = std::numeric_limits<float>::infinity(),
              nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(lanes::exp(infinity), infinity);
  EXPECT_EQ(lanes::exp(-infinity), 0.0F);
  EXPECT_EQ(lanes::exp(0.0F), 1.0F);
  EXPECT_EQ(lanes::exp(200.0F), infinity);
  EXPECT_EQ(lanes::exp(-200.0F), 0.0F);
  EXPECT_EQ(lanes::log(infinity), infinity);
  EXPECT_EQ(lanes::log(0.0F), -infinity);
  EXPECT_EQ(lanes::log(-0.0F), -infinity);
  EXPECT_EQ(lanes::log(1.0F), 0.0F);
  EXPECT_TRUE(std::isnan(lanes::log(-1.0F)));
  EXPECT_TRUE(std::isnan(lanes::log(-infinity)));
  EXPECT_EQ(lanes::tanh(infinity), 1.0F);
  EXPECT_EQ(lanes::tanh(-infinity), -1.0F);
  EXPECT_TRUE(std::signbit(lanes::tanh(-0.0F)));
  EXPECT_EQ(lanes::erf(infinity), 1.0F);
  EXPECT_EQ(lanes::erf(-infinity), -1.0F);
  EXPECT_EQ(lanes::sigmoid(-infinity), 0.0F);
  EXPECT_EQ(lanes::sigmoid(infinity), 1.0F);
  for (const auto f : {static_cast<float (*)(float)>(lanes::exp), static_cast<float (*)(float)>(lanes::log),
                       static_cast<float (*)(float)>(lanes::tanh), static_cast<float (*)(float)>(lanes::erf),
                       static_cast<float (*)(float)>(lanes::sigmoid<float>)}) {
    EXPECT_TRUE(std::isnan(f(nan)));
    EXPECT_TRUE(std::isnan(f(-nan)));
  }
}

}  // namespace
}  // namespace pipescope::ops
