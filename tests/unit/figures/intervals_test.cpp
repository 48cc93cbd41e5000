// Checks the intervals of modelled figures against distributions that are drawn here.
#include "profiler/figures/error_interval.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "profiler/analysis/memory/memory.h"
#include "profiler/analysis/model/error_bands.h"
#include "profiler/analysis/pipeline/stages.h"
#include "profiler/figures/memory_interval.h"
#include "profiler/figures/step_interval.h"

namespace pipescope::figures {
namespace {

/// 80 % of a normal distribution lie within 1.2816 standard deviations.
constexpr double kEighty = 1.2816;

TEST(ErrorInterval, OfOnePartIsThatOfItsDistribution) {
  const IntervalFactors plain = intervalOf({{1, 0, 0.1}});
  EXPECT_NEAR(plain.least, std::exp(-kEighty * 0.1), 1e-3);
  EXPECT_NEAR(plain.most, std::exp(kEighty * 0.1), 1e-3);
  // A model that is a third too fast says so: the interval lies above the figure.
  const IntervalFactors fast = intervalOf({{1, -0.3, 0.05}});
  EXPECT_NEAR(fast.least, std::exp(0.3 - kEighty * 0.05), 1e-3);
  EXPECT_NEAR(fast.most, std::exp(0.3 + kEighty * 0.05), 1e-3);
}

/// The variance of a sum of parts whose errors have a correlation of 0.5, for small errors.
TEST(ErrorInterval, OfSeveralPartsIsNarrowerThanTheWorstCases) {
  const double one = 0.04, other = 0.03, share = 0.6;
  const IntervalFactors both = intervalOf({{share, 0, one}, {1 - share, 0, other}});
  const double a = share * one, b = (1 - share) * other;
  const double spread = std::sqrt(a * a + b * b + 2 * 0.5 * a * b);
  EXPECT_NEAR(std::log(both.most / both.least), 2 * kEighty * spread, 0.004);
  EXPECT_LT(both.most / both.least, std::exp(2 * kEighty * (a + b)));
}

TEST(ErrorInterval, IsTheSameEachTime) {
  const std::vector<PartError> parts = {{0.5, 0.1, 0.2}, {0.3, 0, 0.1}, {0.2, -0.1, 0.4}};
  const IntervalFactors first = intervalOf(parts), second = intervalOf(parts);
  EXPECT_EQ(first.least, second.least);
  EXPECT_EQ(first.most, second.most);
}

/// A band is made of many drawn errors; the interval holds 80 % of further ones.
TEST(ErrorInterval, HoldsFourOfFiveFurtherMeasurements) {
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

TEST(ErrorInterval, OfFewPointsIsWider) {
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

/// Two of four points may be near and two far off on one side, so that the bias exceeds the median distance.
TEST(ErrorInterval, OfABiasBeyondTheMedianIsNotNarrow) {
  analysis::ErrorBand band;
  band.points = 4;
  band.median = 0.098;
  band.bias = -0.378;
  const IntervalFactors interval = intervalOf({errorOf(band)});
  EXPECT_LT(interval.least, 1) << "a point that is exact must lie inside";
  EXPECT_GT(interval.most, std::exp(0.378));
}

TEST(ErrorInterval, ItsErrorIsTheOneThatItWasMadeOf) {
  const PartError error = errorOf(intervalOf({{1, -0.2, 0.07}}));
  EXPECT_NEAR(error.bias, -0.2, 1e-3);
  EXPECT_NEAR(error.spread, 0.07, 1e-3);
}

/// Counts draws of two correlated errors.
TEST(ErrorInterval, SharesAreThoseOfDraws) {
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  const PartError own{1, 0.05, 0.1}, other{1, -0.02, 0.2};
  constexpr int kDraws = 200'000;
  for (const double correlation : {0.0, 0.5}) {
    int ahead = 0, below = 0;
    for (int i = 0; i < kDraws; ++i) {
      const double a = normal(random), rest = normal(random);
      const double b = correlation * a + std::sqrt(1 - correlation * correlation) * rest;
      // ln(emulated ÷ true) is normal; the other figure is emulated 1.1 times as large.
      const double trueOwn = std::exp(-own.bias - own.spread * a);
      const double trueOther = 1.1 * std::exp(-other.bias - other.spread * b);
      ahead += trueOwn < trueOther ? 1 : 0;
      below += trueOwn < 1.02 ? 1 : 0;
    }
    EXPECT_NEAR(shareAhead(1.1, own, other, correlation), static_cast<double>(ahead) / kDraws, 0.004);
    EXPECT_NEAR(shareBelow(own, 1.02), static_cast<double>(below) / kDraws, 0.004);
  }
  // Shares of a normal distribution below 1 and 1.2816 standard deviations: two equal errors with a
  // correlation of 0.5 differ by as much as one of them.
  const PartError tenth{1, 0, 0.1};
  EXPECT_DOUBLE_EQ(shareAhead(1, tenth, tenth, kModelCorrelation), 0.5);
  EXPECT_NEAR(shareAhead(std::exp(0.1), tenth, tenth, kModelCorrelation), 0.8413, 1e-4);
  EXPECT_NEAR(shareAhead(std::exp(-0.12816), tenth, tenth, kModelCorrelation), 0.1, 1e-4);
  EXPECT_DOUBLE_EQ(shareAhead(1.01, {}, {}, kModelCorrelation), 1);
}

/// A step of 100 ticks, 50 µs, on a device whose compared training steps differed so much from the emulated
/// ones.
struct TrainingStep {
  explicit TrainingStep(double bias) {
    catalog.target.tickMeaning = model::TickMeaning::time;
    model::Device device;
    device.kind = "gaudi2";
    device.ticksPerSecond = 2'000'000;
    catalog.devices.push_back(device);
    model::Executable training;
    training.id = model::ExecutableId(0);
    training.kind = model::ExecutableKind::training;
    catalog.executables.push_back(training);
    catalog.properties.push_back({"figure.clock", "1; grade D"});
    catalog.properties.push_back(
        {"band.gaudi2.training step.time", fmt::format("50 points, |ln| median {0}, p90 {1}, bias {2:+}",
                                                       std::abs(bias), std::abs(bias) + 0.05, bias)});
    stages.stages.emplace_back();
    stages.limitingStage = 0;
    stages.stepsKnown = true;
    stages.lost.step = 100;
    from.catalog = &catalog;
    from.stages = &stages;
    from.placed = true;
    from.executable = model::ExecutableId(0);
  }
  TrainingStep(const TrainingStep&) = delete;  // `from` refers to its own members
  TrainingStep& operator=(const TrainingStep&) = delete;

  analysis::Catalog catalog;
  analysis::StagesReport stages;
  Analyses from;
};

TEST(StepInterval, SaysWhyItLeavesTheEmulatedTimeOut) {
  const auto basisOf = [](double bias) {
    const auto interval = stepInterval(TrainingStep(bias).from);
    EXPECT_TRUE(interval);
    return interval ? interval->basis : std::string();
  };
  // The bias is nothing, and then much larger than what the points differ by.
  EXPECT_EQ(basisOf(0), "training steps: 50 compared points on gaudi2");
  EXPECT_NE(basisOf(-0.5).find("lies above the emulated time"), std::string::npos) << basisOf(-0.5);
  EXPECT_NE(basisOf(0.5).find("lies below the emulated time"), std::string::npos) << basisOf(0.5);
}

TEST(StepInterval, ItsEndsAreFiguresInTicksAndMicroseconds) {
  const TrainingStep step(-0.1);
  const auto interval = stepInterval(step.from);
  ASSERT_TRUE(interval);
  EXPECT_LT(interval->factors.least, interval->factors.most);
  const auto valueOf = [&](const char* key) { return std::get<double>(figure(key).value(step.from)); };
  EXPECT_DOUBLE_EQ(valueOf("step_least_cycles"), 100 * interval->factors.least);
  EXPECT_DOUBLE_EQ(valueOf("step_most_cycles"), 100 * interval->factors.most);
  EXPECT_DOUBLE_EQ(valueOf("step_time_least_us"), 50 * interval->factors.least);
  EXPECT_DOUBLE_EQ(valueOf("step_time_most_us"), 50 * interval->factors.most);
}

class MemoryInterval : public ::testing::Test {
 protected:
  MemoryInterval() {
    catalog_.target.tickMeaning = model::TickMeaning::time;
    catalog_.devices.push_back({});
    catalog_.properties.push_back({"figure.clock", "1; grade D"});
    analysis::DeviceMemory device;
    device.bytesPerUnit.count = 1000;
    device.total.count = device.maxUnit.count = device.maxUnitIncludingGaps.count = 900;
    device.alwaysLive.count = 600;
    memory_.devices = {device};
    from_.catalog = &catalog_;
    from_.memory = &memory_;
  }
  analysis::Catalog catalog_;
  analysis::Memory memory_;
  Analyses from_;
};

/// Two thirds are tensors that are exact but for a hundredth, a third is off by up to a factor of 1.5.
TEST_F(MemoryInterval, LiveTensorsAreExactAndTheRestIsNot) {
  const auto interval = memoryInterval(from_);
  ASSERT_TRUE(interval);
  const double a = 2.0 / 3 * 0.01, b = 1.0 / 3 * std::log(1.5) / kEighty;
  const double spread = std::sqrt(a * a + b * b + a * b);  // of small errors with a correlation of 0.5
  EXPECT_NEAR(std::log(interval->factors.most / interval->factors.least), 2 * kEighty * spread, 0.01);
  const auto fits = fitsShare(from_);
  ASSERT_TRUE(fits);
  EXPECT_NEAR(*fits, shareBelow(errorOf(interval->factors), 1000.0 / 900), 1e-12);
  EXPECT_GT(*fits, 0.7);
  EXPECT_LT(*fits, 0.95);
  memory_.devices[0].bytesPerUnit.count = 850;
  EXPECT_LT(*fitsShare(from_), 0.5);
}

TEST_F(MemoryInterval, ACalibrationDecidesWhereThereIsOne) {
  catalog_.properties.push_back({"figure.memory_error", "0.02; grade M; calibrated by 12 rows of rows.csv"});
  const auto interval = memoryInterval(from_);
  ASSERT_TRUE(interval);
  EXPECT_NEAR(interval->factors.most, std::exp(kEighty * 0.02), 1e-4);
  EXPECT_EQ(interval->basis, "what was calibrated by 12 rows of rows.csv");
}

TEST_F(MemoryInterval, RecordedMemoryHasNone) {
  catalog_.properties.push_back({"imported_from", "pytorch"});
  EXPECT_FALSE(memoryInterval(from_));
  EXPECT_FALSE(fitsShare(from_));
}

}  // namespace
}  // namespace pipescope::figures
