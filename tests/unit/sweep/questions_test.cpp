#include "app/run/sweep/questions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

namespace pipescope::app {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

SweepRow row(std::vector<std::string> values, double rate, std::int64_t memory, bool fits = true) {
  SweepRow row;
  row.values = std::move(values);
  row.figures.values["fits"] = fits;
  row.figures.values["samples_per_second"] = rate;
  row.figures.values["memory_bytes"] = memory;
  row.done = true;
  return row;
}

SweepTable table() {
  SweepTable table;
  table.keys = {{"training.micro_batch_size", {"1", "2", "10"}},
                {"execution.recompute", {"none", "pipeline"}}};
  table.rows = {row({"1", "none"}, 100, 50),          row({"1", "pipeline"}, 90, 40),
                row({"2", "none"}, 180, 90),          row({"2", "pipeline"}, 160, 60),
                row({"10", "none"}, 900, 500, false), row({"10", "pipeline"}, 160, 99)};
  return table;
}

std::vector<std::string> names(const SweepAnswer& answer) {
  std::vector<std::string> all;
  for (const SweepRow* one : answer.rows) all.push_back(one->values[0] + one->values[1]);
  return all;
}

TEST(SweepQuestions, ParetoFrontByHand) {
  const SweepTable t = table();
  const SweepAnswer front = paretoFront(t, "time,memory").value();
  EXPECT_THAT(names(front), ElementsAre("2none", "2pipeline", "1none", "1pipeline"));
  EXPECT_EQ(front.sentence, "4 of 5 combinations that fit are on the Pareto front of time,memory.");
  EXPECT_THAT(names(paretoFront(t, "memory").value()), ElementsAre("1pipeline"));
  EXPECT_THAT(names(paretoFront(t, "samples_per_second").value()), ElementsAre("2none"));
}

/// Brute force with the definition: no other row is nowhere worse and somewhere better.
TEST(SweepQuestions, ParetoFrontOfRandomTables) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    SweepTable t;
    t.keys = {{"k", {}}};
    for (int i = 0; i < 30; ++i)
      t.rows.push_back(row({std::to_string(i)}, static_cast<double>(random() % 8),
                           static_cast<std::int64_t>(random() % 8), random() % 4 != 0));
    std::set<std::string> expected, found;
    for (const SweepRow& a : t.rows) {
      bool beaten = !a.figures.fits();
      for (const SweepRow& b : t.rows) {
        if (!b.figures.fits()) continue;
        const double ra = *a.figures.number("samples_per_second"),
                     rb = *b.figures.number("samples_per_second");
        const double ma = *a.figures.number("memory_bytes"), mb = *b.figures.number("memory_bytes");
        beaten = beaten || (rb >= ra && mb <= ma && (rb > ra || mb < ma));
      }
      if (!beaten) expected.insert(a.values[0]);
    }
    const SweepAnswer front = paretoFront(t, "time,memory").value();
    for (const SweepRow* one : front.rows) found.insert(one->values[0]);
    EXPECT_EQ(found, expected);
  }
}

TEST(SweepQuestions, LargestAndSmallest) {
  const SweepTable t = table();
  // 10 with "none" is faster, but does not fit. Numbers are compared as numbers: 10 is more than 2.
  EXPECT_EQ(largestThatFits(t, "training.micro_batch_size").value().sentence,
            "The largest training.micro_batch_size that fits is 10 with 160 samples per second.");
  EXPECT_THAT(names(largestThatFits(t, "training.micro_batch_size").value()), ElementsAre("10pipeline"));
  EXPECT_THAT(names(smallestThatFits(t, "training.micro_batch_size").value()), ElementsAre("1none"));
  EXPECT_THAT(largestThatFits(t, "execution.recompute").error().message,
              HasSubstr("--largest execution.recompute: \"none\" is no number"));
  EXPECT_THAT(
      largestThatFits(t, "training.epochs").error().message,
      HasSubstr("the sweep does not vary this key, only training.micro_batch_size, execution.recompute"));
}

TEST(SweepQuestions, SmallestSystemHasTheFewestDevices) {
  SweepTable t;
  t.keys = {{"system.name", {"pod64", "pod16", "pod4"}}};
  t.rows = {row({"pod64"}, 9, 1), row({"pod16"}, 5, 1), row({"pod4"}, 3, 1, false)};
  t.rows[0].figures.values["system_devices"] = std::int64_t{64};
  t.rows[1].figures.values["system_devices"] = std::int64_t{16};
  t.rows[2].figures.values["system_devices"] = std::int64_t{4};
  EXPECT_EQ(smallestThatFits(t, "system.name").value().sentence,
            "The smallest system that fits is pod16 with 5 samples per second.");
  for (SweepRow& one : t.rows) one.figures.values["fits"] = false;
  EXPECT_EQ(smallestThatFits(t, "system.name").value().sentence, "None of the 3 combinations fits.");
  EXPECT_EQ(paretoFront(t, "time").value().sentence, "None of the 3 combinations fits.");
}

/// Rates G ÷ (G + 3), as a pipeline of four equal stages has them.
TEST(SweepQuestions, KneeByHand) {
  SweepTable t;
  t.keys = {{"training.gradient_accumulation", {"16", "1"}}};
  for (int g = 16; g >= 1; --g) t.rows.push_back(row({std::to_string(g)}, 1000.0 * g / (g + 3), 1));
  const SweepAnswer knee = kneeOf(t, "training.gradient_accumulation").value();
  // d(y − x)/dG = 0 where 3 ÷ (G + 3)² = (16/19 − 1/4) ÷ 15, so at G = 5.72; of the whole numbers, 6 is the
  // best.
  EXPECT_THAT(knee.sentence,
              HasSubstr("lies at training.gradient_accumulation = 6 with 667 samples per second: "
                        "79 % of the largest rate."));
  EXPECT_EQ(knee.rows.size(), 16U);
  EXPECT_EQ(knee.rows.front()->values[0], "1");
  t.rows.resize(2);
  EXPECT_THAT(kneeOf(t, "training.gradient_accumulation").error().message,
              HasSubstr("three values that fit, but there are 2"));
}

TEST(SweepQuestions, CombinationsThatWereOnlyCompiledHaveNoTimes) {
  EXPECT_TRUE(checkParetoOfCompiled("memory,devices").ok());
  EXPECT_TRUE(checkParetoOfCompiled("memory_use,system_devices").ok());
  for (const char* figure : {"time", "bubble", "imbalance", "price", "samples_per_second"})
    EXPECT_FALSE(checkParetoOfCompiled(std::string("memory,") + figure).ok()) << figure;
  EXPECT_EQ(
      checkParetoOfCompiled("memory,bubble").error().message,
      "--pareto memory,bubble: --compile-only emulates nothing, so combinations have no bubble_fraction: "
      "leave out --compile-only, or name only devices, memory_bytes, memory_use, system_devices.");
}

TEST(SweepQuestions, RefuseUnknownFigures) {
  const SweepTable t = table();
  EXPECT_THAT(paretoFront(t, "time,memroy").error().message,
              HasSubstr("no figure memroy; did you mean memory?"));
  EXPECT_THAT(paretoFront(t, "time,samples_per_second").error().message,
              HasSubstr("samples_per_second is named twice"));
  EXPECT_THAT(paretoFront(t, "price").error().message, HasSubstr("Give system.price_per_hour."));
  EXPECT_FALSE(paretoFront(t, "").ok());
}

}  // namespace
}  // namespace pipescope::app
