#include "profiler/figures/step_interval.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "profiler/analysis/model/error_bands.h"

namespace pipescope::figures {
namespace {

/// 80 % of a normal distribution lie within 1.2816 standard deviations.
constexpr double kEighty = 1.2816;

TEST(StepInterval, OfOnePartIsThatOfItsDistribution) {
  const IntervalFactors plain = intervalOf({{1, 0, 0.1}});
  EXPECT_NEAR(plain.least, std::exp(-kEighty * 0.1), 1e-3);
  EXPECT_NEAR(plain.most, std::exp(kEighty * 0.1), 1e-3);
  // A model that is a third too fast says so: the interval lies above the figure.
  const IntervalFactors fast = intervalOf({{1, -0.3, 0.05}});
  EXPECT_NEAR(fast.least, std::exp(0.3 - kEighty * 0.05), 1e-3);
  EXPECT_NEAR(fast.most, std::exp(0.3 + kEighty * 0.05), 1e-3);
}

/// The variance of a sum of parts whose errors have a correlation of 0.5, for small errors.
TEST(StepInterval, OfSeveralPartsIsNarrowerThanTheWorstCases) {
  const double one = 0.04, other = 0.03, share = 0.6;
  const IntervalFactors both = intervalOf({{share, 0, one}, {1 - share, 0, other}});
  const double a = share * one, b = (1 - share) * other;
  const double spread = std::sqrt(a * a + b * b + 2 * 0.5 * a * b);
  EXPECT_NEAR(std::log(both.most / both.least), 2 * kEighty * spread, 0.004);
  EXPECT_LT(both.most / both.least, std::exp(2 * kEighty * (a + b)));
}

TEST(StepInterval, IsTheSameEachTime) {
  const std::vector<PartError> parts = {{0.5, 0.1, 0.2}, {0.3, 0, 0.1}, {0.2, -0.1, 0.4}};
  const IntervalFactors first = intervalOf(parts), second = intervalOf(parts);
  EXPECT_EQ(first.least, second.least);
  EXPECT_EQ(first.most, second.most);
}

/// A band is made of many drawn errors; the interval holds 80 % of further ones.
TEST(StepInterval, HoldsFourOfFiveFurtherMeasurements) {
  std::mt19937 random(5);
  for (const double bias : {0.0, -0.2, 0.05}) {
    std::normal_distribution<double> error(bias, 0.1);
    std::vector<double> sizes, signedErrors;
    for (int i = 0; i < 4001; ++i) {
      signedErrors.push_back(error(random));
      sizes.push_back(std::abs(signedErrors.back()));
    }
    std::ranges::sort(sizes);
    std::ranges::sort(signedErrors);
    analysis::ErrorBand band;
    band.points = 4001;
    band.median = sizes[2000];
    band.p90 = sizes[3600];
    band.bias = signedErrors[2000];
    const IntervalFactors interval = intervalOf({errorOf(band)});
    int held = 0;
    constexpr int kFurther = 4000;
    for (int i = 0; i < kFurther; ++i) {
      const double truth = std::exp(-error(random));  // emulated 1
      held += interval.least <= truth && truth <= interval.most ? 1 : 0;
    }
    EXPECT_NEAR(static_cast<double>(held) / kFurther, 0.8, 0.04) << bias;
  }
}

TEST(StepInterval, OfFewPointsIsWider) {
  analysis::ErrorBand band;
  band.median = 0.07;
  band.p90 = 0.16;
  band.points = 5;
  const double few = errorOf(band).spread;
  band.points = 500;
  EXPECT_GT(few, 1.1 * errorOf(band).spread);
  band.p90.reset();
  EXPECT_GT(errorOf(band).spread, 0.09) << "of a median alone: 0.07 ÷ 0.6745";
}

}  // namespace
}  // namespace pipescope::figures
