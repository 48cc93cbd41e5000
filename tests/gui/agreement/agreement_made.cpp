#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "agreement_figures.h"
#include "app/run/orders/replay_schedules.h"
#include "profiler/analysis/option_changes.h"
#include "profiler/record/memory_profile.h"
#include "profiler/replay/replay_rows.h"
#include "profiler/replay/what_if.h"
#include "profiler/sections/replays.h"

namespace pipescope::testing {
namespace {

/// The profile that "Open as profile" makes. Null: it cannot be written.
std::shared_ptr<Recorded> madeOf(const replay::ChangeContext& context, const replay::WhatIf& answer,
                                 const replay::Change& change, const std::string& interval) {
  auto profile = std::make_shared<record::MemoryProfile>();
  record::Recorder recorder(*profile);
  const base::Status written = replay::writeReplay(context, answer.recording, answer.timeline, {change},
                                                   replay::Extent::whole, recorder, interval);
  EXPECT_TRUE(written.ok()) << written.error().message;
  EXPECT_TRUE(recorder.finish(model::ProfileState::complete).ok());
  auto catalog = analysis::loadCatalog(*profile);
  EXPECT_TRUE(catalog.ok());
  if (!catalog.ok()) return nullptr;
  return std::make_shared<Recorded>(Recorded{profile, *catalog});
}

}  // namespace

/// Checks that the profile which a what-if makes holds the memory and the options that the what-if names.
void expectMadeProfilesAgree(const Figures& of) {
  const replay::Schedules schedules = app::replaySchedules();
  const replay::ChangeContext context{of.context().source, of.catalog(), &schedules};
  const auto recording =
      replay::readRecording(context.source, context.catalog, of.context().executable, &schedules);
  if (!recording.ok()) return;  // What cannot be replayed makes no profile.
  for (const replay::Change& change :
       {replay::Change{replay::kAccumulationKey, "*2"}, replay::Change{replay::kRecomputeKey, "none"},
        replay::Change{replay::kRecomputeKey, "pipeline"}, replay::Change{replay::kScheduleKey, "gpipe"},
        replay::Change{replay::kScheduleKey, "1f1b"}, replay::Change{"stages.0.forward", "*2"}}) {
    SCOPED_TRACE(change.text());
    const auto answer = replay::whatIf(context, *recording, {change});
    if (!answer.ok()) continue;  // refused with a sentence
    const auto made = madeOf(context, *answer, change, sections::keptIntervalOf(of.context()));
    ASSERT_NE(made, nullptr);
    const Figures figures(*made, of.context().executable);
    const sections::Section asked =
        sections::whatIfSection(of.catalog(), sections::stepIntervalOf(of.context()), *answer);
    for (const char* end : {"step_least_cycles", "step_most_cycles"}) {
      const auto said = std::ranges::find(asked.facts, std::string("after_") + end, &sections::Fact::key);
      ASSERT_NE(said, asked.facts.end());
      const auto* ticks = std::get_if<double>(&said->value);
      ASSERT_EQ(ticks == nullptr, figures["summary"][end].is_null()) << end;
      if (ticks != nullptr) {
        EXPECT_NEAR(figures["summary"][end].get<double>(), *ticks, 1e-6 * *ticks) << end;
      }
    }
    expectMemoryAgrees(figures);
    expectStepTimesAgree(figures);
    std::map<int, std::int64_t> added;  // by device
    std::map<int, bool> fits;
    for (const replay::StageFit& fit : answer->memory) {
      const int device = of.stages().stages[static_cast<std::size_t>(fit.stage)].device;
      if (fit.fits) fits[device] = *fit.fits;
      if (fit.fits) added[device] = fit.added.count;  // of all stages of the device
    }
    for (std::size_t d = 0; d < of.memory().devices.size(); ++d) {
      const analysis::DeviceMemory &before = of.memory().devices[d], &after = figures.memory().devices[d];
      if (!fits.contains(before.index)) continue;
      EXPECT_EQ(after.total.count - before.total.count, added[before.index]) << before.name;
      EXPECT_EQ(after.fits, fits[before.index]) << before.name;
    }
    const auto options = analysis::changedOptions(of.catalog(), figures.catalog());
    const bool same = !of.catalog().configuration.empty() && options.empty();
    EXPECT_FALSE(same && answer->after.stepTicks != answer->before.stepTicks)
        << "the options say what was changed";
  }
}

}  // namespace pipescope::testing
