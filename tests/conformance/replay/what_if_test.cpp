// Tests of what-ifs whose times were computed by hand, and of what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <algorithm>

#include "emulated.h"
#include "profiler/replay/best_move.h"
#include "profiler/replay/replay_rows.h"

namespace pipescope::conformance {
namespace {

using testing::HasSubstr;

ReplayedSetup twoStages(const std::string& schedule, int microBatches) {
  return {"[[fixed.stages]]\nforward = 1\nbackward = 2\n[[fixed.stages]]\nforward = 2\nbackward = 4\n",
          {{"system.name", "fixed"},
           {"execution.mode", "training"},
           {"execution.schedule", schedule},
           {"training.gradient_accumulation", std::to_string(microBatches)}}};
}

EmulatedProfile must(base::Result<EmulatedProfile> emulated) {
  if (!emulated.ok()) ADD_FAILURE() << emulated.error().message;
  return std::move(emulated).value();
}

base::Result<replay::WhatIf> ask(const EmulatedProfile& emulated, const std::vector<std::string>& texts) {
  PIPESCOPE_ASSIGN(const replay::Recording recording, recordingOf(emulated));
  std::vector<replay::Change> changes;
  for (const std::string& text : texts) {
    PIPESCOPE_ASSIGN(replay::Change change, replay::parseChange(text));
    changes.push_back(std::move(change));
  }
  return replay::whatIf({*emulated.profile, *emulated.catalog, &engineSchedules()}, recording, changes);
}

constexpr double kUnit = 1e6;  // ticks of `fixed` in a cost unit

TEST(WhatIf, PartsOfTheDifferenceAddUp) {
  // gpipe, two micro-batches. Recorded: forwards end at 5, stage 1's backwards at 9 and 13, stage 0's at 15.
  // Stage 0's forward at 3: stage 1 computes F at 3–5 and 6–8, B until 16; stage 0 ends at 18.
  // Stage 1's forward at 1: F at 1–2 and 2–3, B until 11; stage 0 ends at 13.
  // Both: stage 1 computes F at 3–4 and 6–7, B until 15; stage 0 ends at 17.
  const EmulatedProfile emulated = must(emulateSetup(twoStages("gpipe", 2)));
  const auto answer = ask(emulated, {"stages.0.forward=3", "stages.1.forward=*0.5"});
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_DOUBLE_EQ(answer->before.stepTicks, 15 * kUnit);
  EXPECT_DOUBLE_EQ(answer->after.stepTicks, 17 * kUnit);
  ASSERT_EQ(answer->parts.size(), 2u);
  EXPECT_DOUBLE_EQ(*answer->parts[0].ticks, 3 * kUnit);
  EXPECT_DOUBLE_EQ(*answer->parts[1].ticks, -2 * kUnit);
  EXPECT_DOUBLE_EQ(answer->interaction, 1 * kUnit);
  EXPECT_DOUBLE_EQ(answer->stagesAfter.stages[0].forward, 3 * kUnit);
  EXPECT_DOUBLE_EQ(answer->stagesAfter.stages[1].busy, 5 * kUnit);
  EXPECT_FALSE(answer->after.samplesPerSecond) << "cost units are no seconds";
  EXPECT_NEAR(answer->gain(), 15.0 / 17 - 1, 1e-12);
}

TEST(WhatIf, SaysThatARunDividesTheModelAnew) {
  ReplayedSetup setup{
      "[model]\nbuilder = \"decoder\"\nlayers = 4\nhidden = 64\nheads = 4\nvocabulary = 256\n"
      "sequence = 32\n",
      {{"system.name", "pod4"},
       {"execution.mode", "training"},
       {"execution.numerics", "false"},
       {"execution.schedule", "1f1b"},
       {"execution.stages", "2"},
       {"training.gradient_accumulation", "8"}}};
  const EmulatedProfile emulated = must(emulateSetup(setup));
  const auto says = [&](const std::string& change) {
    const auto answer = ask(emulated, {change});
    EXPECT_TRUE(answer.ok()) << answer.error().message;
    return answer.ok() && std::ranges::any_of(answer->remarks, [](const std::string& remark) {
             return remark.find("execution.stages = 2 divides the model anew") != std::string::npos;
           });
  };
  EXPECT_TRUE(says("gradient_accumulation=16"));
  EXPECT_FALSE(says("stages.0.forward=*2"));
}

/// Three micro-batches are too few for popart with three stages by themselves, but not for 1F1B.
TEST(WhatIf, ChangesThatOnlyGoTogetherHaveNoPartOfTheirOwn) {
  ReplayedSetup setup = twoStages("popart", 4);
  const EmulatedProfile emulated = must(emulateSetup(setup));
  const auto answer = ask(emulated, {"gradient_accumulation=2", "schedule=gpipe"});
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_FALSE(answer->parts[0].ticks);
  ASSERT_TRUE(answer->parts[1].ticks);
  EXPECT_DOUBLE_EQ(answer->after.stepTicks, 15 * kUnit);
  EXPECT_DOUBLE_EQ(answer->before.stepTicks + *answer->parts[1].ticks + answer->interaction, 15 * kUnit);
}

/// Micro-batches that take 1, 0.5 and 2 times as long; forward 1, backward 2 on two stages.
TEST(MicroBatchCosts, ScaleTheTimesOfMicroBatches) {
  // popart (cycles of IPU0 | IPU1): F0 | –, F1 | F0B0, F2B0 | F1B1, B1 | F2B2, B2 | –: 1 + 3 + 4 + 6 + 4.
  // gpipe: forwards on stage 0 end at 1, 1.5, 3.5, on stage 1 at 2, 2.5, 5.5; all backwards of stage 1 end at
  // 12.5, and stage 0 then computes 4 (the last one ascending) or has computed B2 and needs 3 more: 16.5.
  // One at a time: 6 × (1 + 0.5 + 2).
  const std::map<std::string, double> expected = {{"popart", 18}, {"gpipe", 16.5}, {"tf-sequential", 21}};
  for (const auto& [schedule, units] : expected) {
    SCOPED_TRACE(schedule);
    ReplayedSetup setup = twoStages(schedule, 3);
    setup.tables =
        "[[fixed.stages]]\nforward = 1\nbackward = 2\n[[fixed.stages]]\nforward = 1\nbackward = 2\n";
    const EmulatedProfile emulated =
        must(emulateSetup(setup.with("training.micro_batch_costs", "1, 0.5, 2")));
    EXPECT_DOUBLE_EQ(emulated.stepTicks(), units * kUnit);
    // The same from a recording in which all take equally long, and back.
    const auto asked = replayedStep(must(emulateSetup(setup)), {"micro_batch_costs=1,0.5,2"});
    ASSERT_TRUE(asked.ok()) << asked.error().message;
    EXPECT_DOUBLE_EQ(*asked, units * kUnit);
    const auto back = replayedStep(emulated, {"micro_batch_costs=1"});
    ASSERT_TRUE(back.ok()) << back.error().message;
    EXPECT_DOUBLE_EQ(*back, must(emulateSetup(setup)).stepTicks());
  }
}

TEST(MicroBatchCosts, RepeatAndAreRecorded) {
  ReplayedSetup setup = twoStages("tf-sequential", 5).with("training.micro_batch_costs", "1, 3");
  const EmulatedProfile emulated = must(emulateSetup(setup));
  EXPECT_DOUBLE_EQ(emulated.stepTicks(), 9 * (1 + 3 + 1 + 3 + 1) * kUnit);
  EXPECT_EQ(emulated.catalog->property("replay.0.micro_batch_costs"), "1 3 1 3 1");
}

TEST(MicroBatchCosts, OfADistributionLieAroundOne) {
  for (const char* text : {"uniform(64, 512)", "normal(300, 50)", "lognormal(200, 0.5)"}) {
    SCOPED_TRACE(text);
    ReplayedSetup setup = twoStages("tf-sequential", 400).with("training.micro_batch_costs", text);
    const EmulatedProfile emulated = must(emulateSetup(setup));
    // The mean of 400 draws is within three standard errors of 1 (deviation at most 0.53).
    EXPECT_NEAR(emulated.stepTicks() / (9 * 400 * kUnit), 1, 0.08);
    EXPECT_NE(emulated.stepTicks(), must(emulateSetup(setup.with("execution.seed", "7"))).stepTicks());
  }
}

TEST(MicroBatchCosts, BadTextsAreRefused) {
  const std::map<std::string, std::string> texts = {{"1,two", "no list of numbers"},
                                                    {"1,,2", "no list of numbers"},
                                                    {"1,0", "outside these limits"},
                                                    {"-1", "outside these limits"},
                                                    {"nan", "no list of numbers"},
                                                    {"zipf(1, 2)", "no known distribution"},
                                                    {"uniform(5)", "no known distribution"},
                                                    {"uniform(5, 1)", "no such distribution"},
                                                    {"normal(-1, 1)", "no such distribution"}};
  for (const auto& [text, why] : texts) {
    const auto refused = emulateSetup(twoStages("gpipe", 2).with("training.micro_batch_costs", text));
    ASSERT_FALSE(refused.ok()) << text;
    EXPECT_THAT(refused.error().message, HasSubstr(why)) << text;
  }
  std::string many = "1";
  for (int i = 2; i <= 70; ++i) many += "," + std::to_string(i);
  const auto refused = emulateSetup(twoStages("gpipe", 80).with("training.micro_batch_costs", many));
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("more than 64 different factors"));
}

TEST(WhatIf, SaysWhyARecordingCannotAnswer) {
  const EmulatedProfile emulated = must(emulateSetup(twoStages("popart", 8)));
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"stages.7.forward=*2", "There is no stage \"7\": the recording has the stages 0 to 1."},
      {"stages.x.forward=*2", "There is no stage \"x\""},
      {"stages.1.forward=fast", "this is no number"},
      {"stages.1.forward=*-1", "must not be negative"},
      {"stages.1.forward=-150%", "must not be negative"},
      {"stages.1.forward=5%", "a percentage has a sign"},
      {"stages.1.forward=1e300", "it is too large"},
      {"stages.1.recompute=2", "holds no recompute of stage 1"},
      {"stages.1.update=2", "holds no update of stage 1"},
      {"stages.1.warp=2", "is nothing that a replay can change"},
      {"gradient_accumulation=0", "must be a whole number from 1"},
      {"gradient_accumulation=2.5", "must be a whole number from 1"},
      {"gradient_accumulation=2", "popart"},
      {"gradient_accumulation=1e9", "must be a whole number from 1"},
      {"schedule=warp", "There is no schedule \"warp\""},
      {"schedule=zb-h1", "weight gradients as a pass of their own"},
      {"schedule=zb-v", "zb-v"},
      {"links.bandwidth=*2", "no transfers between devices"},
      {"links.host.bandwidth=*2", "no copies between host and devices"},
      {"links.nowhere.bandwidth=*2", "There is no link \"nowhere\""},
      {"host_rate=*2", "no work of the host"},
      {"replication_factor=2", "one replica"},
      {"recompute=maybe", "can set execution.recompute to pipeline (on) or none (off)"},
      {"inference.replication_factor=2", "is for inference, but the recorded call is training"},
      {"gradient_accumulation=900000", "gives more work than a replay takes"},
      {"move=B1:1", "There is no block \"B1\". The stages hold the blocks stage0 | stage1."},
      {"move=stage0:1", "is the only one of stage 0"},
      {"move=stage0:0", "cannot move to stage 0"},
      {"move=B1", "BLOCK:STAGE"},
      {"micro_batch_costs=1,x", "factors that are separated by commas"},
  };
  for (const auto& [change, why] : cases) {
    const auto answer = ask(emulated, {change});
    ASSERT_FALSE(answer.ok()) << change;
    EXPECT_EQ(answer.error().kind, base::ErrorKind::badInput);
    EXPECT_THAT(answer.error().message, HasSubstr(why)) << change;
  }
  for (const char* text : {"stages.1.forward", "=2", "stages.1.forward="}) {
    const auto change = replay::parseChange(text);
    ASSERT_FALSE(change.ok()) << text;
    EXPECT_THAT(change.error().message, HasSubstr("KEY=VALUE"));
  }
}

TEST(WhatIf, NeedsSchedulesAndACall) {
  const EmulatedProfile emulated = must(emulateSetup(twoStages("gpipe", 2)));
  const auto unknown =
      replay::readRecording(*emulated.profile, *emulated.catalog, model::ExecutableId(0), nullptr);
  ASSERT_FALSE(unknown.ok());
  EXPECT_THAT(unknown.error().message, HasSubstr("knows no schedules"));
  record::MemoryProfile empty;
  record::Recorder recorder(empty);
  model::Executable executable;
  executable.name = "training";
  recorder.add(executable);
  recorder.add(model::Stage{model::ExecutableId(0), 0, model::DeviceId(0), {}, 0, {}});
  ASSERT_TRUE(recorder.finish(model::ProfileState::complete).ok());
  const auto catalog = analysis::loadCatalog(empty);
  ASSERT_TRUE(catalog.ok());
  const auto nothing = replay::readRecording(empty, **catalog, model::ExecutableId(0), &engineSchedules());
  ASSERT_FALSE(nothing.ok());
  EXPECT_THAT(nothing.error().message, HasSubstr("holds no call of training"));
}

/// A trace of one device with these placements.
struct HandMadePass {
  model::Pass pass = model::Pass::forward;
  int stage = 0, microBatch = 0;
};
std::string replayErrorOf(const std::vector<HandMadePass>& passes, int firstStage = 0) {
  record::MemoryProfile profile;
  record::Recorder recorder(profile);
  recorder.add(model::Property{"imported_from", "a test"});
  recorder.add(model::Device());
  recorder.add(model::Lane());
  recorder.add(model::Executable());
  recorder.add(model::Stage{model::ExecutableId(0), firstStage, model::DeviceId(0), {}, 0, {}});
  model::Run run;
  run.executable = model::ExecutableId(0);
  run.end = base::Ticks(1000);
  recorder.add(run);
  std::int64_t time = 0;
  for (const HandMadePass& pass : passes) {
    model::Segment segment;
    segment.executable = model::ExecutableId(0);
    segment.device = model::DeviceId(0);
    segment.ticks = base::Ticks(10);
    model::Placement placement;
    placement.segment = recorder.add(segment);
    placement.device = model::DeviceId(0);
    placement.start = base::Ticks(time);
    placement.end = base::Ticks(time += 10);
    placement.run = model::RunId(0);
    placement.stage = pass.stage;
    placement.pass = pass.pass;
    placement.microBatch = pass.microBatch;
    placement.iteration = 0;
    recorder.add(placement);
  }
  EXPECT_TRUE(recorder.finish(model::ProfileState::complete).ok());
  const auto catalog = analysis::loadCatalog(profile);
  EXPECT_TRUE(catalog.ok());
  const auto recording =
      replay::readRecording(profile, **catalog, model::ExecutableId(0), &engineSchedules());
  return recording.ok() ? std::string() : recording.error().message;
}

TEST(Recording, WhatCannotBeReplayedIsRefused) {
  using model::Pass;
  EXPECT_EQ(replayErrorOf({{Pass::forward, 0, 0}, {Pass::backward, 0, 0}}), "");
  EXPECT_THAT(replayErrorOf({{Pass::other, 0, 0}}),
              HasSubstr("No passes of pipeline stages were recognised"));
  EXPECT_THAT(replayErrorOf({{Pass::forward, 0, 0}, {Pass::forward, 0, 1}, {Pass::forward, 0, 0}}),
              HasSubstr("at two different times"));
  EXPECT_THAT(replayErrorOf({{Pass::forward, 0, 1'000'000}}), HasSubstr("it may be damaged"));
  EXPECT_THAT(replayErrorOf({{Pass::forward, 0, 0}}, 3), HasSubstr("does not hold the passes of all stages"));
}

/// Popart with two equal stages and G = 3 works in 3 of 5 cycles; GPipe needs no barriers, and more
/// micro-batches fill the pipeline better. By hand, with costs F = 1, B = 2 on two stages: popart 3 takes
/// 1 + 3 + 3 + 3 + 2 = 12, for 6 micro-batches 1 + 3·6 + 2 = 21 (3.5 each instead of 4).
TEST(BestMove, TakesTheChangeThatGainsMost) {
  ReplayedSetup setup = twoStages("popart", 3);
  setup.tables = "[[fixed.stages]]\nforward = 1\nbackward = 2\n[[fixed.stages]]\nforward = 1\nbackward = 2\n";
  const EmulatedProfile emulated = must(emulateSetup(setup));
  const auto recording = recordingOf(emulated);
  ASSERT_TRUE(recording.ok()) << recording.error().message;
  const replay::ChangeContext context{*emulated.profile, *emulated.catalog, &engineSchedules()};
  const replay::BestMoveAnswer answer = replay::bestMove(context, *recording);
  ASSERT_TRUE(answer.move) << answer.reason;
  EXPECT_GT(answer.tried, 2);
  // Nothing that can be tried is better: each candidate by itself.
  for (const std::string& change : {std::string("gradient_accumulation=6"), std::string("schedule=gpipe"),
                                    std::string("schedule=1f1b")}) {
    const auto alone = ask(emulated, {change});
    ASSERT_TRUE(alone.ok()) << alone.error().message;
    EXPECT_LE(alone->gain(), answer.move->gain + 1e-12) << change;
  }
  EXPECT_NEAR(answer.move->gain, 12.0 / 3 / (21.0 / 6) - 1, 1e-9);
  EXPECT_EQ(answer.move->change.text(), "training.gradient_accumulation=6");
  EXPECT_FALSE(answer.move->hasMemory) << "given costs say nothing of memory";
}

/// The last stage of 1F1B needs no stash, but that of GPipe does. On cards, copies to it are kernels.
/// Devices that keep what backward passes need where it is make no copies.
TEST(WhatIf, SaysHowFarCopiesToANewStashMayBeOff) {
  ReplayedSetup setup{"",
                      {{"system.name", "pod4"},
                       {"model.builder", "decoder"},
                       {"model.layers", "2"},
                       {"model.heads", "2"},
                       {"model.hidden", "32"},
                       {"model.feed_forward", "64"},
                       {"model.sequence", "16"},
                       {"model.vocabulary", "64"},
                       {"execution.stages", "2"},
                       {"execution.schedule", "1f1b"},
                       {"execution.recompute", "none"},
                       {"execution.numerics", "false"},
                       {"execution.mode", "training"},
                       {"data.dataset", "synthetic"},
                       {"training.gradient_accumulation", "4"}}};
  for (const char* system : {"pod4", "hls-gaudi2"}) {
    const EmulatedProfile emulated = must(emulateSetup(setup.with("system.name", system)));
    const auto recording = recordingOf(emulated);
    ASSERT_TRUE(recording.ok()) << recording.error().message;
    const replay::ChangeContext context{*emulated.profile, *emulated.catalog, &engineSchedules()};
    const auto changed = replay::applyChanges(context, *recording, {{"execution.schedule", "gpipe"}});
    ASSERT_TRUE(changed.ok()) << changed.error().message;
    const bool said = std::ranges::any_of(changed->remarks, [](const std::string& remark) {
      return remark.find("Stage 1 now keeps results until the backward pass") != std::string::npos;
    });
    EXPECT_EQ(said, system == std::string("pod4")) << system;
  }
}

/// An option is named by the key that a configuration has, however it was typed.
TEST(WhatIf, NamesAnOptionByItsKey) {
  const EmulatedProfile emulated = must(emulateSetup(twoStages("popart", 8)));
  const auto recording = recordingOf(emulated);
  ASSERT_TRUE(recording.ok()) << recording.error().message;
  const std::pair<replay::Change, const char*> cases[] = {
      {{"schedule", "1f1b"}, "execution.schedule=1f1b"},
      {{"execution.schedule", "1f1b"}, "execution.schedule=1f1b"},
      {{"gradient_accumulation", "*2"}, "training.gradient_accumulation=*2"},
      {{"replication_factor", "2"}, "training.replication_factor=2"},
      {{"inference.replication_factor", "2"}, "inference.replication_factor=2"},
      {{"recompute", "on"}, "execution.recompute=pipeline"},
      {{"execution.recompute", "off"}, "execution.recompute=none"},
      {{"recompute", "none"}, "execution.recompute=none"},
      {{"stages.1.recompute", "off"}, "stages.1.recompute=off"},
      {{"forward", "2"}, "forward=2"},
      {{"move", "a:1"}, "move=a:1"}};
  for (const auto& [typed, text] : cases) EXPECT_EQ(replay::spelledOut(*recording, typed).text(), text);
  replay::Recording inference = *recording;
  inference.executable.kind = model::ExecutableKind::inference;
  inference.training = false;
  EXPECT_EQ(replay::spelledOut(inference, {"replication_factor", "2"}).text(),
            "inference.replication_factor=2");
  EXPECT_EQ(replay::spelledOut(inference, {"gradient_accumulation", "2"}).text(),
            "training.gradient_accumulation=2");
  const auto answer = ask(emulated, {"schedule=1f1b"});
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ(answer->parts.front().change, "execution.schedule=1f1b");
  const auto whole = ask(emulated, {"execution.schedule=1f1b"});
  ASSERT_TRUE(whole.ok()) << whole.error().message;
  EXPECT_EQ(whole->timeline.length(), answer->timeline.length());
}

TEST(BestMove, SaysWhyThereIsNone) {
  const auto reasonFor = [](const ReplayedSetup& setup) {
    const EmulatedProfile emulated = must(emulateSetup(setup));
    const replay::ChangeContext context{*emulated.profile, *emulated.catalog, &engineSchedules()};
    const replay::BestMoveAnswer answer = replay::bestMove(context, model::ExecutableId(0));
    EXPECT_FALSE(answer.move);
    return answer.reason;
  };
  ReplayedSetup one = twoStages("gpipe", 2);
  one.tables = "[[fixed.stages]]\nforward = 1\nbackward = 2\n";
  EXPECT_THAT(reasonFor(one), HasSubstr("The only change that can be tried does not gain 1 % or more"));
  // Filling and draining hardly matter with so many micro-batches.
  EXPECT_THAT(reasonFor(twoStages("gpipe", 400)), HasSubstr("gains 1 % or more"));
  record::MemoryProfile longCall;
  record::Recorder recorder(longCall);
  model::Executable executable;
  executable.stages = 4;
  executable.microBatches = 200'000;
  recorder.add(executable);
  ASSERT_TRUE(recorder.finish(model::ProfileState::complete).ok());
  const auto catalog = analysis::loadCatalog(longCall);
  ASSERT_TRUE(catalog.ok());
  EXPECT_THAT(replay::bestMove({longCall, **catalog, &engineSchedules()}, model::ExecutableId(0)).reason,
              HasSubstr("too long to try"));
}

/// The profile that a what-if writes replays to the same times.
TEST(WhatIf, WritesAProfileThatReplaysAlike) {
  const EmulatedProfile emulated = must(emulateSetup(twoStages("popart", 8)));
  const auto answer = ask(emulated, {"schedule=1f1b", "stages.1.backward=*0.5"});
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EmulatedProfile written;
  written.profile = std::make_unique<record::MemoryProfile>();
  record::Recorder recorder(*written.profile);
  const replay::ChangeContext context{*emulated.profile, *emulated.catalog, &engineSchedules()};
  ASSERT_TRUE(replay::writeReplay(context, answer->recording, answer->timeline,
                                  {{"schedule", "1f1b"}, {"stages.1.backward", "*0.5"}},
                                  replay::Extent::whole, recorder)
                  .ok());
  ASSERT_TRUE(recorder.finish(model::ProfileState::complete).ok());
  written.catalog = *analysis::loadCatalog(*written.profile);
  EXPECT_EQ(written.catalog->property("replayed_with"), "execution.schedule=1f1b stages.1.backward=*0.5");
  const auto again = recordingOf(written);
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_TRUE(again->explained);
  EXPECT_EQ(again->executable.schedule, "1f1b");
  const auto timeline = replay::replayCall(*again);
  ASSERT_TRUE(timeline.ok());
  EXPECT_EQ(timeline->length(), answer->timeline.length());
}

}  // namespace
}  // namespace pipescope::conformance
