// Tests the split of a row of units into stages against all splits that there are.
#include "engine/plan/contiguous_split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <set>

namespace pipescope::plan {
namespace {

/// A split in which nothing is exchanged, nothing recomputed and everything allowed.
SplitProblem plainProblem(std::vector<std::int64_t> cost, std::size_t stages) {
  SplitProblem problem;
  const std::size_t units = cost.size();
  problem.cost = std::move(cost);
  problem.again.assign(units, 0);
  problem.works.assign(units, true);
  problem.mayCut.assign(units, true);
  problem.exchange.assign(stages, std::vector<std::int64_t>(units, 0));
  problem.recomputes.assign(stages, false);
  problem.fixed.assign(stages, 0);
  return problem;
}

/// The device of each stage by the rules, found by joining stages until nothing changes. Empty: a stage would
/// have to lie on two devices.
std::vector<int> devicesByRules(const SplitProblem& problem, const std::vector<std::size_t>& first) {
  std::vector<int> device(first.size());
  for (std::size_t s = 0; s < first.size(); ++s)
    device[s] = problem.placeOfStage.empty() ? static_cast<int>(s) : problem.placeOfStage[s];
  const auto stageOf = [&](std::size_t unit) {
    std::size_t stage = 0;
    while (stage + 1 < first.size() && first[stage + 1] <= unit) ++stage;
    return stage;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (const std::vector<std::size_t>& set : problem.together) {
      for (const std::size_t unit : set) {
        int &a = device[stageOf(set.front())], &b = device[stageOf(unit)];
        if (a == b) continue;
        if (!problem.placeOfStage.empty()) return {};
        a = b = std::min(a, b);
        changed = true;
      }
    }
  }
  return device;
}

struct Score {
  std::int64_t largest = 0, squares = 0;
  friend auto operator<=>(const Score&, const Score&) = default;
};

std::optional<Score> scoreOf(const SplitProblem& problem, const std::vector<std::size_t>& first) {
  const std::size_t units = problem.units();
  std::vector<int> device = devicesByRules(problem, first);
  if (device.empty()) return {};
  std::vector<std::int64_t> load(first.size(), 0);
  Score score;
  for (std::size_t s = 0; s < first.size(); ++s) {
    const std::size_t end = s + 1 < first.size() ? first[s + 1] : units;
    if (s > 0 && !problem.mayCut[first[s]]) return {};
    std::int64_t cost = problem.fixed[s];
    bool works = false;
    for (std::size_t u = first[s]; u < end; ++u) {
      cost += problem.cost[u];
      if (problem.recomputes[s]) cost += problem.again[u];
      works = works || problem.works[u];
    }
    if (!works) return {};
    if (s > 0) cost += problem.exchange[s][first[s]];
    if (end < units) cost += problem.exchange[s + 1][end];
    const bool free = problem.placeOfStage.empty();
    load[free ? static_cast<std::size_t>(device[s]) : s] += cost;
    score.squares += cost * cost;
  }
  score.largest = *std::ranges::max_element(load);
  return score;
}

/// The best score of all splits.
std::optional<Score> tryAll(const SplitProblem& problem) {
  std::optional<Score> best;
  std::vector<std::size_t> first{0};
  const std::function<void()> grow = [&] {
    if (first.size() == problem.stages()) {
      const std::optional<Score> score = scoreOf(problem, first);
      if (score && (!best || *score < *best)) best = score;
      return;
    }
    for (std::size_t u = first.back() + 1; u < problem.units(); ++u) {
      first.push_back(u);
      grow();
      first.pop_back();
    }
  };
  grow();
  return best;
}

class Dice {
 public:
  explicit Dice(std::uint32_t seed) : engine_(seed) {}
  std::size_t below(std::size_t count) { return engine_() % count; }
  bool oneIn(std::size_t count) { return below(count) == 0; }

 private:
  std::mt19937 engine_;
};

SplitProblem randomProblem(Dice& dice) {
  const std::size_t units = 1 + dice.below(11), stages = 1 + dice.below(5);
  SplitProblem problem = plainProblem(std::vector<std::int64_t>(units), stages);
  for (std::size_t u = 0; u < units; ++u) {
    problem.cost[u] = 2 + static_cast<std::int64_t>(dice.below(28));
    problem.again[u] = static_cast<std::int64_t>(dice.below(12));
    problem.works[u] = !dice.oneIn(6);
    problem.mayCut[u] = !dice.oneIn(6);
  }
  for (std::size_t s = 0; s < stages; ++s) {
    problem.recomputes[s] = !dice.oneIn(3);
    problem.fixed[s] = static_cast<std::int64_t>(dice.below(8)) - 2;
    for (std::int64_t& each : problem.exchange[s]) each = static_cast<std::int64_t>(dice.below(10));
    if (problem.placeOfStage.size() == s && dice.oneIn(4)) problem.placeOfStage.push_back(0);
  }
  if (problem.placeOfStage.size() < stages) problem.placeOfStage.clear();
  for (std::size_t s = 0; s < problem.placeOfStage.size(); ++s)
    problem.placeOfStage[s] = static_cast<int>(s % 2);
  for (std::size_t sets = dice.below(4); sets > 0 && units > 1; --sets) {
    std::set<std::size_t> members;
    for (std::size_t i = 2 + dice.below(2); i > 0; --i) members.insert(dice.below(units));
    if (members.size() > 1) problem.together.emplace_back(members.begin(), members.end());
  }
  return problem;
}

TEST(ContiguousSplit, IsAsGoodAsTheBestOfAllSplits) {
  Dice dice(7);
  int solved = 0, shared = 0;
  for (int round = 0; round < 3000; ++round) {
    const SplitProblem problem = randomProblem(dice);
    const std::optional<Score> best = tryAll(problem);
    const std::optional<StageSplit> split = splitContiguously(problem);
    ASSERT_EQ(split.has_value(), best.has_value()) << "round " << round;
    if (!split) continue;
    const std::optional<Score> own = scoreOf(problem, split->first);
    ASSERT_TRUE(own) << "round " << round << ": the split breaks a rule";
    EXPECT_EQ(own->largest, best->largest) << "round " << round;
    EXPECT_EQ(own->squares, best->squares) << "round " << round;
    EXPECT_EQ(split->largest, own->largest) << "round " << round;
    EXPECT_TRUE(canSplitWithin(problem, best->largest)) << "round " << round;
    EXPECT_FALSE(canSplitWithin(problem, best->largest - 1)) << "round " << round;
    ++solved;
    const std::set<int> devices(split->placeOfStage.begin(), split->placeOfStage.end());
    shared += devices.size() < split->placeOfStage.size() && problem.placeOfStage.empty() ? 1 : 0;
  }
  EXPECT_GT(solved, 1000);
  EXPECT_GT(shared, 100) << "rounds in which stages share a device";
}

TEST(ContiguousSplit, ATiedHeadLiesWithItsEmbedding) {
  // An embedding, six layers, a head that uses the table of the embedding.
  SplitProblem problem = plainProblem({4, 6, 6, 6, 6, 6, 6, 8}, 4);
  problem.together = {{0, 7}};
  const std::optional<StageSplit> split = splitContiguously(problem);
  ASSERT_TRUE(split);
  EXPECT_EQ(split->placeOfStage, (std::vector<int>{0, 1, 2, 0}));
  EXPECT_EQ(split->first, (std::vector<std::size_t>{0, 2, 4, 7})) << "10 + 8, 12 and 18";
  EXPECT_EQ(split->largest, 18);
  // No split is right where each stage must have its own device.
  problem.placeOfStage = {0, 1, 2, 3};
  EXPECT_FALSE(splitContiguously(problem));
}

TEST(ContiguousSplit, ExchangeMovesACut) {
  SplitProblem problem = plainProblem({5, 5, 5, 5}, 2);
  EXPECT_EQ(splitContiguously(problem)->first[1], 2u);
  problem.exchange[1] = {0, 1, 9, 3};
  EXPECT_EQ(splitContiguously(problem)->first[1], 1u) << "15 + 1 is less than 10 + 9 and than 15 + 3";
  problem.recomputes[0] = true;
  problem.again = {0, 3, 3, 3};
  EXPECT_EQ(splitContiguously(problem)->stageCost, (std::vector<std::int64_t>{6, 16}));
}

TEST(ContiguousSplit, SplitsManyUnits) {
  Dice dice(3);
  SplitProblem problem = plainProblem(std::vector<std::int64_t>(1500), 16);
  std::int64_t all = 0, most = 0;
  for (std::int64_t& each : problem.cost) {
    each = static_cast<std::int64_t>(dice.below(1000));
    all += each;
    most = std::max(most, each);
  }
  problem.together = {{0, 1499}};
  const std::optional<StageSplit> split = splitContiguously(problem);
  ASSERT_TRUE(split);
  EXPECT_EQ(split->placeOfStage.back(), 0);
  EXPECT_GE(split->largest, (all + 14) / 15) << "15 devices";
  EXPECT_LE(split->largest, all / 15 + most);
}

// Cuts are so many that a split at the cheap ones is sought first.
TEST(ContiguousSplit, FindsTheBestOfManyCuts) {
  Dice dice(11);
  constexpr std::size_t kUnits = 1200;
  SplitProblem problem = plainProblem(std::vector<std::int64_t>(kUnits), 3);
  for (std::int64_t& each : problem.cost) each = static_cast<std::int64_t>(dice.below(100));
  for (std::size_t u = 1; u < kUnits; ++u)
    problem.exchange[1][u] = problem.exchange[2][u] = static_cast<std::int64_t>(dice.below(20'000));
  std::vector<std::int64_t> sum(kUnits + 1, 0);
  for (std::size_t u = 0; u < kUnits; ++u) sum[u + 1] = sum[u] + problem.cost[u];
  Score best{std::numeric_limits<std::int64_t>::max(), 0};
  for (std::size_t a = 1; a < kUnits; ++a) {
    for (std::size_t b = a + 1; b < kUnits; ++b) {
      const std::int64_t before = problem.exchange[1][a], after = problem.exchange[2][b];
      const std::int64_t first = sum[a] + before, second = sum[b] - sum[a] + before + after,
                         third = sum[kUnits] - sum[b] + after;
      best = std::min(
          best, Score{std::max({first, second, third}), first * first + second * second + third * third});
    }
  }
  const std::optional<StageSplit> split = splitContiguously(problem);
  ASSERT_TRUE(split);
  EXPECT_EQ(split->largest, best.largest);
  EXPECT_EQ(scoreOf(problem, split->first)->squares, best.squares);
}

// The units of a set must share a place. If each stage has its own, they must be in one stage, and 16 stages
// do not fit: the search asks nothing.
TEST(ContiguousSplit, RefusesATieOverManyUnitsAtOnce) {
  SplitProblem problem = plainProblem(std::vector<std::int64_t>(6000, 7), 16);
  problem.together = {{0, 5999}};
  problem.placeOfStage.resize(16);
  std::iota(problem.placeOfStage.begin(), problem.placeOfStage.end(), 0);
  int asked = 0;
  problem.fits = [&](std::size_t, std::size_t, std::size_t) { return ++asked > 0; };
  EXPECT_FALSE(splitContiguously(problem));
  EXPECT_EQ(asked, 0);
  problem.together = {{0, 3000}};
  EXPECT_TRUE(splitContiguously(problem));
}

}  // namespace
}  // namespace pipescope::plan
