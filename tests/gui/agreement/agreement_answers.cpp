#include <gtest/gtest.h>

#include <algorithm>

#include "agreement_figures.h"
#include "app/run/orders/replay_schedules.h"
#include "profiler/replay/what_if.h"

namespace pipescope::testing {

using base::Ticks;
using model::StepKind;
using nlohmann::json;

/// Checks that the figures of the recorded step, which are shown before its replay, are those that the replay
/// gives.
void expectRecordedStepAgrees(const Figures& of) {
  const replay::Schedules schedules = app::replaySchedules();
  const replay::ChangeContext context{of.context().source, of.catalog(), &schedules};
  const model::ExecutableId executable = of.context().executable;
  const auto first = replay::recordedAnswer(context, executable, of.stages());
  const auto recording = replay::readRecording(context.source, context.catalog, executable, &schedules);
  ASSERT_EQ(first.has_value(), recording.ok());
  if (!first) return;
  const auto replayed = replay::whatIf(context, *recording, {});
  ASSERT_TRUE(replayed.ok()) << replayed.error().message;
  const auto interval = sections::stepIntervalOf(of.context());
  const sections::Section before = sections::whatIfSection(of.catalog(), interval, *first),
                          after = sections::whatIfSection(of.catalog(), interval, *replayed);
  EXPECT_EQ(before.remarks, after.remarks);
  ASSERT_EQ(before.facts.size(), after.facts.size());
  for (std::size_t i = 0; i < before.facts.size(); ++i) {
    const auto shown = [](const sections::Fact& fact) { return formatCell(fact.value, fact.format); };
    EXPECT_EQ(shown(before.facts[i]), shown(after.facts[i])) << before.facts[i].key;
  }
  for (std::size_t t = 0; t < after.tables.size(); ++t) {
    const sections::SectionTable &own = before.tables[t], &other = after.tables[t];
    if (other.key == "memory") continue;  // it is shown once the stashes are known
    ASSERT_EQ(own.rows.size(), other.rows.size()) << other.key;
    for (std::size_t r = 0; r < other.rows.size(); ++r) {
      for (std::size_t c = 0; c < other.columns.size(); ++c)
        EXPECT_EQ(formatCell(own.rows[r][c], own.columns[c].format),
                  formatCell(other.rows[r][c], other.columns[c].format))
            << other.key << " " << r << " " << other.columns[c].key;
    }
  }
}

/// Checks that a replay without changes has the step time and the waits of the stages' report.
void expectUnchangedReplayAgrees(const Figures& of) {
  const replay::Schedules schedules = app::replaySchedules();
  const replay::ChangeContext context{of.context().source, of.catalog(), &schedules};
  const auto recording =
      replay::readRecording(context.source, context.catalog, of.context().executable, &schedules);
  if (!recording.ok()) return;  // What cannot be replayed has no second figure.
  const auto replayed = replay::whatIf(context, *recording, {});
  ASSERT_TRUE(replayed.ok()) << replayed.error().message;
  EXPECT_NEAR(replayed->before.stepTicks, of.stages().lost.step, kRounding);
  EXPECT_NEAR(replayed->after.stepTicks, of.stages().lost.step, kRounding);
  for (const analysis::StagesReport* report : {&replayed->stagesBefore, &replayed->stagesAfter}) {
    ASSERT_EQ(report->stages.size(), of.stages().stages.size());
    for (std::size_t s = 0; s < report->stages.size(); ++s) {
      const analysis::StageReport &own = report->stages[s], &other = of.stages().stages[s];
      EXPECT_NEAR(own.busy, other.busy, kRounding) << "stage " << s;
      for (const auto* waits : {&own.waits, &other.waits}) {
        for (const auto& [cause, ticks] : *waits) {
          const auto one = own.waits.find(cause), two = other.waits.find(cause);
          EXPECT_NEAR(one == own.waits.end() ? 0 : one->second, two == other.waits.end() ? 0 : two->second,
                      kRounding)
              << "stage " << s << ", " << model::toString(cause);
        }
      }
    }
  }
}

void expectInsightsAgree(const Figures& of) {
  const json& stages = of["stages"];
  // The best single move of the stages is among the findings, under the same name.
  if (!stages["best_move"].is_null()) {
    const json& gains = of["insights"]["insights"];
    const auto sameMove = std::ranges::find_if(
        gains, [&](const json& finding) { return finding["changes"] == stages["best_move_change"]; });
    ASSERT_NE(sameMove, gains.end()) << stages["best_move_change"];
    EXPECT_EQ((*sameMove)["gain_fraction"], stages["best_move"]["gain_fraction"]);
    EXPECT_GE(of["insights"]["largest_gain_fraction"].get<double>(),
              stages["best_move"]["gain_fraction"].get<double>());
  }
  for (const json& finding : of["insights"]["insights"]) {
    const std::string reason =
        finding["gain_reason"].is_null() ? "" : finding["gain_reason"].get<std::string>();
    if (reason.find("but it is") != std::string::npos) {
      EXPECT_TRUE(reason.starts_with("A run with ")) << "a value that the run does not have: " << reason;
    }
    const double figure = finding["figure"].get<double>();
    if (finding["rule"] == "imbalance") {
      EXPECT_NEAR(figure, stages["imbalance"].get<double>(), 1e-9);
    }
    if (finding["rule"] == "fill_and_drain") {
      EXPECT_NEAR(figure,
                  stages["lost_fill_and_drain_cycles"].get<double>() / stages["step_cycles"].get<double>(),
                  1e-6);
    }
    if (finding["rule"] == "memory_overflow") {
      EXPECT_GT(figure, 1);
      EXPECT_FALSE(of["summary"]["fits"].get<bool>());
    }
  }
}

}  // namespace pipescope::testing
