// Tests checks of figures. The expected values are computed by hand from the small sections below.
#include "profiler/sections/frame/figure_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "profiler/sections/bound.h"

namespace pipescope::sections {
namespace {

TEST(Bound, IsArithmeticOnNumbersAndTheBaseline) {
  const auto value = [](const std::string& expression) {
    const auto bound = evaluateBound(expression, 10, "");
    EXPECT_TRUE(bound.ok()) << expression << ": " << (bound.ok() ? "" : bound.error().message);
    return bound.ok() ? bound->value : std::nan("");
  };
  EXPECT_EQ(value("1.2"), 1.2);
  EXPECT_EQ(value("-3"), -3);
  EXPECT_EQ(value("1e3"), 1000);
  EXPECT_EQ(value("true"), 1);
  EXPECT_EQ(value("false"), 0);
  EXPECT_EQ(value("1.05*baseline"), 10.5);
  EXPECT_EQ(value("baseline + 2 * 3"), 16);
  EXPECT_EQ(value("(baseline + 2) * 3 - 1"), 35);
  EXPECT_EQ(value("20 - 4 - 3"), 13);
  EXPECT_EQ(value("40 / baseline / 2"), 2);
  EXPECT_EQ(value("baseline + 5 %"), 10.5);
  EXPECT_EQ(value("baseline - 10 %"), 9);
  EXPECT_EQ(value("2 * baseline + 5 %"), 21);
  EXPECT_EQ(value("(baseline + 50 %) * 2"), 30);
  EXPECT_EQ(value("105 % * baseline"), 10.5);
  EXPECT_EQ(value("3 + 50 %"), 3.5);
  EXPECT_NEAR(evaluateBound("baseline + 5 %", 0.3, "share", 1, true)->value, 0.35, 1e-12);
  EXPECT_TRUE(evaluateBound("3 + (1 + baseline)", 1, "")->usesBaseline);
  EXPECT_TRUE(evaluateBound("baseline + 1", 1, "")->usesBaseline);
  EXPECT_TRUE(evaluateBound("2 * baseline", 1, "")->usesBaseline);
  EXPECT_FALSE(evaluateBound("2", 1, "")->usesBaseline);
  EXPECT_EQ(evaluateBound("2 *", 1, "").error().message, "The bound ends too early.");
  EXPECT_EQ(evaluateBound("x", 1, "").error().message, "\"x\" is neither a number nor \"baseline\".");
  EXPECT_EQ(evaluateBound("1.05 baseline", 1, "").error().message,
            "\"baseline\" stands behind the end of the bound.");
  for (const char* wrong : {"", "inf", "nan", "(1", "1)", "baselines", "* 2", "1 2"})
    EXPECT_FALSE(evaluateBound(wrong, 1, "").ok()) << wrong;
  EXPECT_FALSE(evaluateBound(std::string(10'000, '('), 1, "").ok());
}

Section figures(double stage0, double stage1, std::vector<std::int64_t> order = {0, 1}) {
  Section section{"stages", "Stages", {}, {}, {}};
  section.facts = {
      {"imbalance", "", 1.6, Format::ratio, ""},
      {"fits", "", true, Format::truth, ""},
      {"worst", "", Cell(), Format::ratio, ""},
      {"name", "", std::string("a"), Format::plain, ""},
      {"by_category", "", Breakdown{{"vertexCode", std::int64_t{40}}, {"stack", std::int64_t{2}}},
       Format::bytes, "", true, kAnyParts}};
  SectionTable table{"stages", "", "", {}, {}};
  table.columns = {{"index", "", Format::index, ""},
                   {"share", "", Format::fraction, ""},
                   {"busy_cycles", "", Format::ticks, ""},
                   {"waits", "", Format::ticks, "", true, {"slower stage", "host"}}};
  for (const std::int64_t index : order) {
    const double share = index == 0 ? stage0 : stage1;
    table.rows.push_back({index, share < 0 ? Cell() : Cell(share), std::int64_t{100} * (index + 1),
                          Breakdown{{"slower stage", 5.0}, {"host", Amount()}}});
  }
  section.tables = {table};
  return section;
}

/// The sentences about the values that meet the check, joined by "; ", or the error.
std::string outcome(const std::string& text, const Section& own, const Section* before = nullptr,
                    std::int64_t ownClock = 1, std::int64_t clockBefore = 1, bool costsBefore = false) {
  const auto parsed = parseCheck(text);
  if (!parsed.ok()) return parsed.error().message;
  std::optional<CheckedSection> baseline;
  if (before != nullptr) baseline.emplace(CheckedSection{*before, clockBefore, costsBefore});
  const auto found = checkFigures(*parsed, {own, ownClock}, baseline ? &*baseline : nullptr);
  if (!found.ok()) return found.error().message;
  std::string joined;
  for (const std::string& sentence : *found) joined += (joined.empty() ? "" : "; ") + sentence;
  return joined;
}

TEST(Check, SaysWhichValuesMeetIt) {
  const Section section = figures(0.25, 0.75);
  EXPECT_EQ(outcome("stages.imbalance > 1.2", section),
            "stages.imbalance is 1.6 (--fail-if 'stages.imbalance > 1.2')");
  EXPECT_EQ(outcome("stages.imbalance>1.7", section), "");
  EXPECT_EQ(outcome("stages.imbalance == 1.6", section),
            "stages.imbalance is 1.6 (--fail-if 'stages.imbalance == 1.6')");
  EXPECT_EQ(outcome("stages.imbalance != 1.6", section), "");
  EXPECT_EQ(outcome("stages.imbalance <= 1.6", section),
            "stages.imbalance is 1.6 (--fail-if 'stages.imbalance <= 1.6')");
  EXPECT_EQ(outcome("stages.imbalance >= 1.61", section), "");
  EXPECT_EQ(outcome("stages.fits == false", section), "");
  EXPECT_EQ(outcome("stages.fits == true", section), "stages.fits is true (--fail-if 'stages.fits == true')");
  EXPECT_EQ(outcome("stages.fits == yes", section), "stages.fits is yes (--fail-if 'stages.fits == yes')");
  EXPECT_EQ(outcome("stages.fits != no", section), "stages.fits is yes (--fail-if 'stages.fits != no')");
  EXPECT_EQ(outcome("stages.fits == no", section), "");
}

TEST(Check, ComparesWords) {
  const Section section = figures(0.25, 0.75);
  EXPECT_EQ(outcome("stages.name == a", section), "stages.name is a (--fail-if 'stages.name == a')");
  EXPECT_EQ(outcome("stages.name == \"A\"", section), "stages.name is a (--fail-if 'stages.name == \"A\"')");
  EXPECT_EQ(outcome("stages.name == 'a'", section), "stages.name is a (--fail-if 'stages.name == 'a'')");
  EXPECT_EQ(outcome("stages.name == slower stage", section), "");
  EXPECT_EQ(outcome("stages.name != host-link", section),
            "stages.name is a (--fail-if 'stages.name != host-link')");
  EXPECT_EQ(outcome("stages.name > 1", section),
            "--fail-if 'stages.name > 1': stages.name is no number, but a word: compare it by == or !=.");
  EXPECT_EQ(outcome("stages.imbalance == host", section),
            "--fail-if 'stages.imbalance == host': stages.imbalance is a number, and \"host\" is none.");
  EXPECT_EQ(outcome("stages.worst == host", section),
            "--fail-if 'stages.worst == host': the profile has no such figure.");
  EXPECT_EQ(outcome("stages.imbalance > 150 %", section),
            "stages.imbalance is 1.6 (--fail-if 'stages.imbalance > 150 %')");
}

TEST(Bound, NumbersMayHaveAPercentSignOrAUnit) {
  EXPECT_DOUBLE_EQ(evaluateBound("120 %", 1, "imbalance")->value, 1.2);
  EXPECT_DOUBLE_EQ(evaluateBound("5% * 2", 1, "share")->value, 0.1);
  EXPECT_DOUBLE_EQ(evaluateBound("1.5 ms", 1, "time_us")->value, 1500);
  EXPECT_DOUBLE_EQ(evaluateBound("1.5ms + 3", 1, "time_us")->value, 1503);
  EXPECT_DOUBLE_EQ(evaluateBound("2 µs", 1, "idle_seconds")->value, 2e-6);
  EXPECT_DOUBLE_EQ(evaluateBound("2 ms", 1, "step_cycles", 1.33e9)->value, 2.66e6);
  EXPECT_DOUBLE_EQ(evaluateBound("1 s - 5", 1, "cycles", 100)->value, 95);
  EXPECT_EQ(evaluateBound("1 s", 1, "cycles", 0).error().message,
            "The times of this profile are cost units, so cycles is a plain number of them: leave s out.");
  EXPECT_EQ(evaluateBound("1 MB", 1, "cycles", 100).error().message,
            "The figure cycles is not counted in bytes.");
  EXPECT_DOUBLE_EQ(evaluateBound("2 GiB", 1, "memory_bytes")->value, 2147483648);
  EXPECT_DOUBLE_EQ(evaluateBound("3 kB", 1, "bytes")->value, 3000);
  EXPECT_THAT(evaluateBound("2 hours", 1, "time_us").error().message,
              testing::HasSubstr("\"hours\" is no unit"));
  EXPECT_EQ(evaluateBound("2 ms", 1, "memory_bytes").error().message,
            "The figure memory_bytes is not counted in time.");
  EXPECT_EQ(evaluateBound("2 MB", 1, "imbalance").error().message,
            "The figure imbalance is not counted in bytes.");
}

/// 3 % of nothing is no time. A percentage of the baseline is.
TEST(Bound, APercentageOfATimeNeedsTheBaseline) {
  for (const char* key : {"time_us", "memory_bytes", "step_cycles"}) {
    EXPECT_THAT(evaluateBound("3 %", 1, key).error().message,
                testing::HasSubstr(std::string("The figure ") + key + " is no share"));
    EXPECT_DOUBLE_EQ(evaluateBound("105 % * baseline", 20, key)->value, 21);
  }
}

TEST(Check, AnUnknownFigureIsNamedBeforeItsUnit) {
  const Section section = figures(0.25, 0.75);
  EXPECT_THAT(outcome("stages.nonsense > 1.5 ms", section), testing::HasSubstr("nonsense"));
  EXPECT_THAT(outcome("stages.nonsense > 1.5 ms", section),
              testing::Not(testing::HasSubstr("not counted in time")));
  EXPECT_EQ(outcome("stages.imbalance > 1.5 ms", section),
            "--fail-if 'stages.imbalance > 1.5 ms': The figure imbalance is not counted in time.");
}

/// Cycles are compared with times by the clock of the profile.
TEST(Check, ComparesCyclesWithTimes) {
  const Section section = figures(0.25, 0.75);
  const std::string check = "stages.stages[*].busy_cycles > 40 ms";
  const std::string fast = outcome(check, section, nullptr, 1'000'000'000),
                    slow = outcome(check, section, nullptr, 1000);
  EXPECT_EQ(fast, "") << "less than 40 million cycles";
  EXPECT_THAT(slow, testing::HasSubstr("busy_cycles is"));
}

TEST(Check, ReachesElementsAndParts) {
  const Section section = figures(0.25, 0.75);
  EXPECT_EQ(outcome("stages.stages[1].share > 0.5", section),
            "stages.stages[1].share is 0.75 (--fail-if 'stages.stages[1].share > 0.5')");
  EXPECT_EQ(outcome("stages.stages.1.share > 0.5", section),
            "stages.stages[1].share is 0.75 (--fail-if 'stages.stages.1.share > 0.5')");
  EXPECT_EQ(outcome("stages.stages[0].share > 0.5", section), "");
  EXPECT_EQ(outcome("stages.stages[*].share > 0.5", section),
            "stages.stages[1].share is 0.75 (--fail-if 'stages.stages[*].share > 0.5')");
  EXPECT_EQ(outcome("stages.stages[*].busy_cycles > 1", section),
            "stages.stages[0].busy_cycles is 100 (--fail-if 'stages.stages[*].busy_cycles > 1'); "
            "stages.stages[1].busy_cycles is 200 (--fail-if 'stages.stages[*].busy_cycles > 1')");
  EXPECT_EQ(outcome("stages.stages[*].share > 0.9", section), "");
  const std::string waits = "stages.stages[0].waits.slower_stage is 5";
  EXPECT_TRUE(outcome("stages.stages[0].waits.slower_stage > 1", section).starts_with(waits));
  EXPECT_TRUE(outcome("stages.stages[0].waits.slower stage > 1", section).starts_with(waits));
  EXPECT_TRUE(outcome("stages.by_category.vertexCode > 1", section)
                  .starts_with("stages.by_category.vertex_code is 40"));
  EXPECT_EQ(outcome("stages.by_category[*] > 10", section),
            "stages.by_category.vertex_code is 40 (--fail-if 'stages.by_category[*] > 10')");
}

TEST(Check, AnIndexBehindTheSectionMeansItsTable) {
  const Section section = figures(0.25, 0.75);
  for (const char* path : {"stages.1.share", "stages[1].share", "stages[*].share"}) {
    const std::string check = std::string(path) + " > 0.5";
    EXPECT_EQ(outcome(check, section), "stages.stages[1].share is 0.75 (--fail-if '" + check + "')");
  }
  EXPECT_EQ(outcome("stages.0.share > 0.5", section), "");
  EXPECT_NE(outcome("stages.7.share > 0.5", section).find("there is no [7]"), std::string::npos);
}

TEST(Check, AFigureThatDoesNotExistIsAnError) {
  Section section = figures(-1, 0.75);
  EXPECT_EQ(outcome("stages.worst > 1", section),
            "--fail-if 'stages.worst > 1': the profile has no such figure.");
  section.lacks = "Nothing ran.";
  EXPECT_EQ(outcome("stages.worst < 1", section),
            "--fail-if 'stages.worst < 1': the profile has no such figure: Nothing ran.");
  EXPECT_EQ(outcome("stages.stages[0].share < 1", section),
            "--fail-if 'stages.stages[0].share < 1': the profile has no such figure: Nothing ran.");
  EXPECT_EQ(outcome("stages.stages[*].share > 0.9", section), "") << "stage 1 has one";
  EXPECT_EQ(outcome("stages.stages[*].waits.host > 0", section),
            "--fail-if 'stages.stages[*].waits.host > 0': the profile has no such figure: Nothing ran.");
  section.tables[0].rows.clear();
  EXPECT_EQ(outcome("stages.stages[*].share > 0", section),
            "--fail-if 'stages.stages[*].share > 0': the profile has no such figure: Nothing ran.");
  section.lacks.clear();
  EXPECT_EQ(outcome("stages.stages[*].share > 0", section), "") << "any of none";
  EXPECT_EQ(outcome("stages.stages[0].share > 0", section),
            "--fail-if: stages.stages has 0 elements, counted from 0; there is no [0].");
  EXPECT_EQ(outcome("stages.stages[-1].share > 0", section),
            "--fail-if: stages.stages has 0 elements, counted from 0; there is no [-1].");
  EXPECT_EQ(
      outcome("stages.nothing > 0", section),
      "--fail-if: section stages has no figure nothing; `pipescope report PROFILE --section stages --format "
      "json` shows its figures.");
  EXPECT_EQ(outcome("stages.name > 0", section),
            "--fail-if 'stages.name > 0': stages.name is no number, but a word: compare it by == or !=.");
  EXPECT_EQ(outcome("stages.stages > 0", section),
            "--fail-if 'stages.stages > 0': stages.stages is no number.");
}

TEST(Check, AMisspeltFigureOfNoElementsIsAnError) {
  Section section = figures(0.25, 0.75);
  section.tables[0].rows.clear();
  EXPECT_EQ(outcome("stages[*].share > 0", section), "");
  for (const std::string path : {"stages.stages[*].shar", "stages[*].shar"})
    EXPECT_NE(outcome(path + " > 0", section).find("no figure"), std::string::npos) << path;
  EXPECT_NE(outcome("stages[*].shar > 0", section).find("; did you mean share?"), std::string::npos);
  for (const char* path : {"stages.stages[*]", "stages[*]", "stages.remarks[*]"})
    EXPECT_NE(outcome(path + std::string(" > 0"), section).find("are no numbers."), std::string::npos)
        << path;
  section.tables[0].lacks = "Name one.";
  EXPECT_EQ(outcome("stages[*].share > 0", section),
            "--fail-if 'stages[*].share > 0': the profile has no such figure: Name one.");
}

TEST(Check, CostsAreNotComparedWithTimes) {
  Section own = figures(0.25, 0.75);
  own.facts.push_back({"time_us", "", 5.0, Format::number, ""});
  for (const char* path : {"stages.time_us", "stages.stages[*].busy_cycles"}) {
    const std::string check = path + std::string(" > baseline");
    EXPECT_EQ(
        outcome(check, own, &own, 1, 1, true),
        "--fail-if '" + check +
            "': the times of the baseline are cost units, which its configuration states, so they cannot "
            "be compared with those of the profile.");
  }
  EXPECT_EQ(outcome("stages.imbalance > baseline", own, &own, 1, 1, true), "");
}

TEST(Check, ComparesWithTheSameFigureOfTheBaseline) {
  const Section own = figures(0.25, 0.75);
  const Section before = figures(0.5, 0.5, {1, 0});  // in another order
  EXPECT_EQ(
      outcome("stages.stages[*].share > 1.2 * baseline", own, &before),
      "stages.stages[1].share is 0.75; in the baseline it is 0.5 (--fail-if 'stages.stages[*].share > 1.2 * "
      "baseline')");
  EXPECT_EQ(outcome("stages.stages[0].share < baseline", own, &before),
            "stages.stages[0].share is 0.25; in the baseline it is 0.5 (--fail-if 'stages.stages[0].share < "
            "baseline')");
  EXPECT_EQ(outcome("stages.stages[1].busy_cycles != baseline", own, &before), "")
      << "stage 1 is compared with stage 1, which comes first there";
  EXPECT_EQ(outcome("stages.imbalance > 1.05 * baseline", own, &before), "");
  EXPECT_EQ(
      outcome("stages.imbalance > 1 / (baseline - baseline)", own, &before),
      "--fail-if 'stages.imbalance > 1 / (baseline - baseline)': the bound of stages.imbalance is no finite "
      "number.");
  EXPECT_EQ(
      outcome("stages.stages[*].busy_cycles > baseline", own, &before, 10, 20),
      "--fail-if 'stages.stages[*].busy_cycles > baseline': the profile counts 10 ticks per second and the "
      "baseline 20, so their cycles cannot be compared. Compare a time, such as execution.time_us.");
  EXPECT_EQ(outcome("stages.imbalance > baseline", own, &before, 10, 20), "") << "a ratio has no unit";
}

TEST(Check, AFigureThatTheBaselineLacksIsAnError) {
  const Section own = figures(0.25, 0.75);
  Section before = figures(-1, -1);
  before.lacks = "Nothing ran.";
  EXPECT_EQ(outcome("stages.stages[*].share > baseline", own, &before),
            "--fail-if 'stages.stages[*].share > baseline': the baseline has no such figure: Nothing ran.");
  const Section one = figures(0.5, 0.5, {0});
  EXPECT_EQ(outcome("stages.stages[1].share > baseline", own, &one),
            "--fail-if 'stages.stages[1].share > baseline': the baseline has no such figure.");
  EXPECT_EQ(outcome("stages.stages[*].share > baseline", own, &one), "") << "stage 0 has a counterpart";
}

TEST(Check, RefusesWhatItCannotRead) {
  const std::string head = "--fail-if takes 'SECTION.KEY > BOUND' (also < >= <= == !=), but \"";
  for (const char* wrong :
       {"stages", "stages > 1", "stages. > 1", ".a > 1", "stages.a => 1", "stages.a >", "stages.a",
        "stages.a[0 > 1", "stages.a[]x > 1", "stages..a > 1", "stages.a > 1.2.3"}) {
    const auto parsed = parseCheck(wrong);
    ASSERT_FALSE(parsed.ok()) << wrong;
    EXPECT_TRUE(parsed.error().message.starts_with(head + wrong + "\" was given.")) << parsed.error().message;
  }
  EXPECT_EQ(parseCheck("stages.a > x").error().message,
            head + "stages.a > x\" was given. \"x\" is neither a number nor \"baseline\".");
}

}  // namespace
}  // namespace pipescope::sections
