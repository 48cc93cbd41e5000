// Tests the search for repeated runs against one that tries every run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "engine/compile/passes/repeated_runs.h"

namespace pipescope::compile {
namespace {

using RunSet = std::set<std::pair<std::size_t, std::vector<std::size_t>>>;  ///< lengths and starts

RunSet foundRuns(const std::vector<std::int64_t>& numbers) {
  RunSet runs;
  for (const RepeatedRun& run : repeatedRuns(numbers))
    EXPECT_TRUE(runs.insert({run.length, run.starts}).second) << "the same run twice";
  return runs;
}

RunSet byTrying(const std::vector<std::int64_t>& numbers) {
  RunSet runs;
  for (std::size_t length = 1; length < numbers.size(); ++length) {
    std::map<std::vector<std::int64_t>, std::vector<std::size_t>> starts;
    for (std::size_t at = 0; at + length <= numbers.size(); ++at) {
      const std::vector<std::int64_t> run(numbers.begin() + static_cast<std::ptrdiff_t>(at),
                                          numbers.begin() + static_cast<std::ptrdiff_t>(at + length));
      if (std::all_of(run.begin(), run.end(), [](std::int64_t number) { return number >= 0; }))
        starts[run].push_back(at);
    }
    for (const auto& [run, all] : starts) {
      if (all.size() < 2 || all.back() - all.front() < length) continue;
      std::set<std::int64_t> following;
      bool longer = true;
      for (const std::size_t at : all) {
        longer = longer && at + length < numbers.size() && numbers[at + length] >= 0;
        if (longer) following.insert(numbers[at + length]);
      }
      if (!longer || following.size() > 1) runs.insert({length, all});
    }
  }
  return runs;
}

TEST(RepeatedRuns, AreThoseFoundByTryingAll) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::int64_t> numbers(random() % 30);
    for (std::int64_t& number : numbers) number = static_cast<std::int64_t>(random() % 4) - 1;
    EXPECT_EQ(foundRuns(numbers), byTrying(numbers)) << testing::PrintToString(numbers);
  }
}

TEST(RepeatedRuns, ManyEqualLayersMakeFewRuns) {
  std::vector<std::int64_t> numbers;
  for (int layer = 0; layer < 2000; ++layer) {
    for (int op = 0; op < 20; ++op) numbers.push_back(op);
  }
  const std::vector<RepeatedRun> runs = repeatedRuns(numbers);
  // All runs would hold more than 10^12 numbers: (2000 − k) · 20 k for each k and each place of a layer.
  std::size_t all = 0;
  for (const RepeatedRun& run : runs) all += run.length * run.starts.size();
  EXPECT_LT(all, 100'000'000U);
  EXPECT_TRUE(std::ranges::any_of(
      runs, [](const RepeatedRun& run) { return run.length == 20 && run.starts.size() == 2000; }));
}

TEST(RepeatedRuns, SeparatorsEqualNothing) {
  EXPECT_TRUE(foundRuns({-1, -1, -1, -1}).empty());
  EXPECT_EQ(foundRuns({1, 2, -1, 1, 2, -1}), (RunSet{{2, {0, 3}}, {1, {1, 4}}}));
  EXPECT_TRUE(foundRuns({}).empty());
}

}  // namespace
}  // namespace pipescope::compile
