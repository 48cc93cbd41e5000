// Tests the search over combinations that have bounds, and the closed forms behind the bounds.
#include "engine/plan/bounded_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

#include "engine/plan/block_split.h"
#include "engine/plan/closed_forms.h"

namespace pipescope::plan {
namespace {

struct Problem {
  std::vector<Prospect> prospects;
  std::vector<std::optional<Value>> values;
};

/// Values with bounds that they obey, and with estimates that are wrong in both directions.
Problem randomProblem(std::mt19937& random) {
  const auto number = [&](std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(0, most)(random);
  };
  Problem problem;
  for (std::int64_t count = 1 + number(60); count > 0; --count) {
    const Value value{number(3) == 0 ? number(4) : 0, 10 + number(40)};
    const Value bound{std::max<std::int64_t>(0, value.missing - number(2)), value.time - number(10)};
    problem.prospects.push_back({bound, {value.missing, value.time + number(12) - 6}});
    problem.values.push_back(number(9) == 0 ? std::nullopt : std::optional(value));
  }
  return problem;
}

/// The first of the smallest values.
std::optional<std::size_t> bestOfAll(const Problem& problem) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < problem.values.size(); ++i)
    if (problem.values[i] && (!best || *problem.values[i] < *problem.values[*best])) best = i;
  return best;
}

TEST(BoundedSearchTest, FindsTheBestOfAll) {
  std::mt19937 random(7);
  base::SerialExecutor executor;
  base::SilentProgress progress;
  std::size_t excluded = 0;
  for (int round = 0; round < 300; ++round) {
    const Problem problem = randomProblem(random);
    const auto trial = [&](std::size_t i) { return problem.values[i]; };
    const BoundedSearch search = searchByBounds(problem.prospects, 1000, trial, executor, progress);
    EXPECT_EQ(search.best, bestOfAll(problem));
    EXPECT_EQ(search.left, 0U);
    const auto tried = static_cast<std::size_t>(std::ranges::count(search.tried, true));
    EXPECT_EQ(tried + search.excludedByMemory + search.excludedByTime, problem.values.size());
    excluded += problem.values.size() - tried;
  }
  EXPECT_GT(excluded, 1000U);  // otherwise the bounds do nothing
}

TEST(BoundedSearchTest, SaysWhatIsLeft) {
  base::SerialExecutor executor;
  base::SilentProgress progress;
  const std::vector<Prospect> prospects{
      {{0, 1}, {0, 10}}, {{0, 1}, {0, 20}}, {{0, 1}, {0, 30}}, {{0, 15}, {0, 40}}, {{5, 1}, {5, 1}}};
  const auto trial = [](std::size_t i) { return std::optional(Value{0, 10 + static_cast<std::int64_t>(i)}); };
  const BoundedSearch search = searchByBounds(prospects, 2, trial, executor, progress);
  EXPECT_EQ(search.trials, 2U);
  EXPECT_EQ(search.best, 0U);
  EXPECT_EQ(search.left, 1U);              // the third may be better
  EXPECT_EQ(search.excludedByTime, 1U);    // the fourth takes 15 at least
  EXPECT_EQ(search.excludedByMemory, 1U);  // the last one does not fit
}

/// Every split takes at least the time of the closed form: G times a stage, and once each stage before it.
TEST(ClosedFormsTest, NoSplitIsQuickerThanThePipelineBound) {
  std::mt19937 random(3);
  for (int round = 0; round < 500; ++round) {
    const auto places = std::uniform_int_distribution<std::int64_t>(1, 8)(random);
    const auto microBatches = std::uniform_int_distribution<std::int64_t>(1, 20)(random);
    std::vector<double> work;
    for (std::int64_t s = 0; s < places; ++s)
      work.push_back(std::uniform_real_distribution<double>(0, 1)(random));
    double before = 0, longest = 0;
    for (const double stage : work) {
      longest = std::max(longest, static_cast<double>(microBatches) * stage + before);
      before += stage;
    }
    EXPECT_GE(longest, leastPipelineTime(before, microBatches, places) * (1 - 1e-12));
  }
  EXPECT_DOUBLE_EQ(leastPipelineTime(3, 5, 1), 15);
  EXPECT_DOUBLE_EQ(leastPipelineTime(3, 1, 4), 3);
}

TEST(ClosedFormsTest, NoSplitHasAShorterLongestPlace) {
  std::mt19937 random(5);
  for (int round = 0; round < 500; ++round) {
    const auto places = std::uniform_int_distribution<std::size_t>(1, 6)(random);
    std::vector<double> parts(places);
    for (double& part : parts) part = std::uniform_real_distribution<double>(0.01, 1)(random);
    const double all = std::accumulate(parts.begin(), parts.end(), 0.0);
    double longest = 0;
    for (std::size_t s = 0; s < places; ++s)
      longest = std::max(longest, parts[s] / all * (s + 1 < places ? 4.0 : 3.0));
    EXPECT_GE(longest, leastLongestPlace(3, 1, static_cast<std::int64_t>(places)) * (1 - 1e-12));
  }
}

/// 16 bytes a parameter: ZeRO's paper, table 1: 4Ψ + 12Ψ/N, 2Ψ + 14Ψ/N, 16Ψ/N.
TEST(ClosedFormsTest, SharesBytesAsZeRODoes) {
  const HeldBytes all{2, 12, 2};
  EXPECT_DOUBLE_EQ(leastHeldBytes(all, 1, 64, 0, 4), 16);
  EXPECT_DOUBLE_EQ(leastHeldBytes(all, 1, 64, 1, 4), 4 + 12.0 / 64);
  EXPECT_DOUBLE_EQ(leastHeldBytes(all, 1, 64, 2, 4), 2 + 14.0 / 64);
  EXPECT_DOUBLE_EQ(leastHeldBytes(all, 1, 64, 3, 4), 16.0 / 64);
  EXPECT_DOUBLE_EQ(leastHeldBytes(all, 2, 64, 3, 4), 16.0 / 128);
  EXPECT_DOUBLE_EQ(leastHeldBytes(all, 1, 64, 0, 1), 14);  // one micro-batch needs no sums
}

/// The longest stage of the best split into stages, by trying all of them.
std::int64_t longestByBruteForce(const BlockCosts& costs, std::size_t first, std::size_t stages,
                                 bool recomputes) {
  const std::size_t units = costs.cost.size();
  std::int64_t best = INT64_MAX, load = 0;
  for (std::size_t end = first + 1; end <= units; ++end) {
    const bool again = recomputes && stages > 1;
    load += costs.cost[end - 1] + (again ? costs.again[end - 1] : 0);
    if (stages == 1 && end < units) continue;
    const std::int64_t others = stages == 1    ? 0
                                : end == units ? INT64_MAX
                                               : longestByBruteForce(costs, end, stages - 1, recomputes);
    best = std::min(best, std::max(load, others));
  }
  return best;
}

TEST(BlockSplitTest, FindsTheShortestLongestStage) {
  std::mt19937 random(11);
  for (int round = 0; round < 100; ++round) {
    BlockCosts costs;
    const auto units = std::uniform_int_distribution<std::size_t>(2, 9)(random);
    for (std::size_t u = 0; u < units; ++u) {
      costs.blocks.push_back("block" + std::to_string(u));
      costs.cost.push_back(std::uniform_int_distribution<std::int64_t>(1, 20)(random));
      costs.again.push_back(costs.cost.back() / 3);
    }
    const auto stages = std::uniform_int_distribution<std::size_t>(2, units)(random);
    for (const bool recomputes : {false, true})
      EXPECT_EQ(longestOfBlocks(costs, stages, recomputes),
                longestByBruteForce(costs, 0, stages, recomputes));
  }
}

}  // namespace
}  // namespace pipescope::plan
