#include "app/run/calibrate/fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace pipescope::app {
namespace {

/// A job whose rows take a different mix of costs each: products, memory, starts, links.
struct SyntheticJob {
  std::vector<std::vector<double>> costs;  ///< seconds of each part of each row with all factors 1
  FitPoint truth;
  std::vector<double> measured;

  std::vector<double> predict(const FitPoint& logs) const {
    std::vector<double> all;
    for (const std::vector<double>& row : costs) {
      double sum = 0;
      for (std::size_t p = 0; p < row.size(); ++p) sum += row[p] * std::exp(logs[p]);
      all.push_back(std::log(sum));
    }
    return all;
  }
  FitModel model() const {
    return [this](const std::vector<FitPoint>& points) -> base::Result<std::vector<FitPoint>> {
      std::vector<FitPoint> predicted;
      for (const FitPoint& point : points) predicted.push_back(predict(point));
      return predicted;
    };
  }
};

constexpr double kPriorWidth = 0.4;

std::vector<FitParameter> parametersOf(std::size_t count) {
  std::vector<FitParameter> parameters;
  for (std::size_t p = 0; p < count; ++p) parameters.push_back({"p" + std::to_string(p), kPriorWidth, -2, 2});
  return parameters;
}

SyntheticJob drawnJob(unsigned seed, std::size_t parameters, int rows, double noise) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  SyntheticJob job;
  for (std::size_t p = 0; p < parameters; ++p) job.truth.push_back(kPriorWidth * normal(random));
  for (int i = 0; i < rows; ++i) {
    job.costs.emplace_back();
    for (std::size_t p = 0; p < parameters; ++p)
      job.costs.back().push_back(std::pow(10, 2 * uniform(random) - 1));
  }
  job.measured = job.predict(job.truth);
  for (double& value : job.measured) value += noise * normal(random);
  return job;
}

TEST(Fit, FindsPlantedFactorsWithinTheirIntervals) {
  int inside = 0;
  std::size_t refused = 0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    const SyntheticJob job = drawnJob(seed, 5, 12 + static_cast<int>(seed % 10), 0.01 + 0.0004 * seed);
    const Fit fit = fitFactors(parametersOf(5), job.measured, job.model()).value();
    bool all = true;
    for (std::size_t p = 0; p < 5; ++p) {
      const bool known = std::ranges::none_of(
          fit.refused, [&](const Undetermined& undetermined) { return undetermined.parameter == p; });
      all = all && (!known || (fit.least[p] <= job.truth[p] && job.truth[p] <= fit.most[p]));
    }
    inside += all ? 1 : 0;
    refused += fit.refused.size();
  }
  EXPECT_GE(inside, 90);
  EXPECT_LE(refused, 50U) << "most factors of such jobs can be told apart";
}

TEST(Fit, IsAsNarrowAsTheNoiseAllows) {
  const SyntheticJob job = drawnJob(7, 3, 40, 0.01);
  const Fit fit = fitFactors(parametersOf(3), job.measured, job.model()).value();
  ASSERT_TRUE(fit.refused.empty());
  EXPECT_NEAR(fit.noise, 0.01, 0.005);
  for (std::size_t p = 0; p < 3; ++p) {
    EXPECT_NEAR(fit.logs[p], job.truth[p], 0.05) << p;
    EXPECT_LT(fit.most[p] - fit.least[p], 0.12) << p;
  }
}

TEST(Fit, RefusesWhatTheMeasurementsHardlyDependOn) {
  SyntheticJob job = drawnJob(3, 3, 15, 0.01);
  for (auto& row : job.costs) row[1] = 1e-4;
  job.measured = job.predict(job.truth);
  const Fit fit = fitFactors(parametersOf(3), job.measured, job.model()).value();
  ASSERT_EQ(fit.refused.size(), 1U);
  EXPECT_EQ(fit.refused[0].parameter, 1U);
  EXPECT_EQ(fit.refused[0].from, 1U);
  EXPECT_EQ(fit.logs[1], 0);
}

TEST(Fit, RefusesOneOfTwoFactorsThatAlwaysGoTogether) {
  SyntheticJob job = drawnJob(4, 3, 15, 0.01);
  for (auto& row : job.costs) row[2] = 0.5 * row[0];
  job.measured = job.predict(job.truth);
  const Fit fit = fitFactors(parametersOf(3), job.measured, job.model()).value();
  ASSERT_EQ(fit.refused.size(), 1U);
  EXPECT_EQ(fit.refused[0].parameter + fit.refused[0].from, 2U) << "0 and 2";
  EXPECT_NE(fit.refused[0].parameter, fit.refused[0].from);
}

/// The interval of the parameter that the proposal is about, after a fit with one more row.
double widthWith(const SyntheticJob& job, const std::vector<double>& costs, std::size_t parameter,
                 double noise, unsigned seed) {
  SyntheticJob more = job;
  more.costs.push_back(costs);
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  more.measured.push_back(more.predict(job.truth).back() + noise * normal(random));
  const Fit fit = fitFactors(parametersOf(costs.size()), more.measured, more.model()).value();
  return fit.most[parameter] - fit.least[parameter];
}

/// Each job has six rows, which say little about one of four factors. The proposed row is one of 20.
/// Measuring it narrows the interval of that factor at least as much as measuring one that is drawn at
/// random.
TEST(Fit, ProposesTheMeasurementThatNarrowsAnIntervalMost) {
  constexpr double kNoise = 0.02;
  constexpr int kTrials = 100;
  int better = 0, proposals = 0, halved = 0, halvedByChance = 0;
  for (unsigned seed = 0; seed < kTrials; ++seed) {
    SyntheticJob job = drawnJob(seed + 1000, 4, 26, kNoise);
    for (std::size_t i = 0; i < 6; ++i) job.costs[i][seed % 4] *= 0.05;
    const std::vector<std::vector<double>> further(job.costs.begin() + 6, job.costs.end());
    job.costs.resize(6);
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    job.measured = job.predict(job.truth);
    for (double& value : job.measured) value += kNoise * normal(random);
    const Fit fit = fitFactors(parametersOf(4), job.measured, job.model()).value();
    std::vector<std::vector<double>> changes;
    for (const std::vector<double>& costs : further) {
      double sum = 0;
      std::vector<double> shares;
      for (std::size_t p = 0; p < costs.size(); ++p) sum += costs[p] * std::exp(fit.logs[p]);
      for (std::size_t p = 0; p < costs.size(); ++p) shares.push_back(costs[p] * std::exp(fit.logs[p]) / sum);
      changes.push_back(shares);
    }
    const auto next = nextMeasurement(parametersOf(4), fit, changes);
    if (!next) continue;
    ++proposals;
    const std::size_t p = next->parameter;
    const double before = fit.most[p] - fit.least[p];
    const double proposed = widthWith(job, further[next->candidate], p, kNoise, seed);
    const double chance = widthWith(job, further[random() % further.size()], p, kNoise, seed);
    better += proposed <= chance ? 1 : 0;
    halved += proposed <= before / 2 ? 1 : 0;
    halvedByChance += chance <= before / 2 ? 1 : 0;
  }
  EXPECT_GE(proposals, kTrials * 9 / 10);
  EXPECT_GE(better * 10, proposals * 8) << better << " of " << proposals;
  EXPECT_GT(halved, 2 * halvedByChance) << halved << " against " << halvedByChance;
}

TEST(Fit, ProposesNothingThatTellsNothing) {
  const SyntheticJob job = drawnJob(7, 3, 40, 0.01);
  const Fit fit = fitFactors(parametersOf(3), job.measured, job.model()).value();
  EXPECT_FALSE(nextMeasurement(parametersOf(3), fit, {{0, 0, 0}, {0.3, 0.3, 0.4}}));
}

TEST(Fit, StaysWithinBounds) {
  SyntheticJob job = drawnJob(5, 2, 10, 0.01);
  job.truth = {0.8, 0.1};
  job.measured = job.predict(job.truth);
  std::vector<FitParameter> parameters = parametersOf(2);
  parameters[0].most = 0.2;
  const Fit fit = fitFactors(parameters, job.measured, job.model()).value();
  EXPECT_LE(fit.logs[0], 0.2);
}

/// A single factor: the error of a row that is left out follows from fitting without it.
TEST(Fit, LeavesRowsOutAsAFitWithoutThemDoes) {
  SyntheticJob job = drawnJob(6, 1, 6, 0.05);
  std::vector<FitParameter> wide = parametersOf(1);
  wide[0].width = 100;
  const Fit fit = fitFactors(wide, job.measured, job.model()).value();
  for (std::size_t left = 0; left < 6; ++left) {
    double mean = 0;  // ln(cost) + log is linear, so the best log is the mean difference of the others
    for (std::size_t i = 0; i < 6; ++i) {
      if (i != left) mean += (job.measured[i] - std::log(job.costs[i][0])) / 5;
    }
    EXPECT_NEAR(fit.leaveOneOut[left], mean + std::log(job.costs[left][0]) - job.measured[left], 1e-4);
  }
}

TEST(Fit, StudentsQuantilesAreThoseOfTables) {
  EXPECT_NEAR(studentQuantile(0.975, 5), 2.571, 0.01);
  EXPECT_NEAR(studentQuantile(0.975, 10), 2.228, 0.005);
  EXPECT_NEAR(studentQuantile(0.95, 30), 1.697, 0.002);
  EXPECT_NEAR(studentQuantile(0.9, 1000), 1.282, 0.002);
}

}  // namespace
}  // namespace pipescope::app
