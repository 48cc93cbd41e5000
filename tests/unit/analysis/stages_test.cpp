// Checks the report on stages against small pipelines that are worked out by hand.
#include "profiler/analysis/pipeline/stages.h"

#include <gtest/gtest.h>

#include <limits>

#include "profiler/analysis/pipeline/even_costs.h"
#include "profiler/analysis/pipeline/pipeline_grid.h"
#include "profiler/record/memory_profile.h"
#include "profiler/record/recorder.h"
#include "profiler/sections/frame/section.h"
#include "profiler/sections/stage_texts.h"

namespace pipescope::analysis {
namespace {

/// Inference with four micro-batches. Device 0 holds stages 0 and 1 (3 ticks each), device 1 holds stage 2
/// (6 ticks). Device 0 does stage 0 and stage 1 of each micro-batch in turn, so every device is always busy
/// once the pipeline is filled.
struct ThreeStages {
  static constexpr int kMicroBatches = 4;
  record::MemoryProfile profile;
  record::Recorder recorder{profile};
  model::RunId run;
  std::vector<model::DeviceId> devices;
  std::vector<model::LaneId> lanes;
  model::ExecutableId executable;

  /// `hostTicks` is the length of the host copy of stage 0 for each micro-batch. `host` is its direction.
  explicit ThreeStages(std::int64_t hostTicks = 0, model::Pass host = model::Pass::hostIn,
                       model::ScheduleKind schedule = model::ScheduleKind::dependency) {
    model::Executable row;
    row.name = "inference";
    row.kind = model::ExecutableKind::inference;
    row.microBatches = kMicroBatches;
    row.stages = 3;
    row.scheduleKind = schedule;
    executable = recorder.add(row);
    for (int d = 0; d < 2; ++d) {
      model::Device device;
      device.name = "D" + std::to_string(d);
      devices.push_back(recorder.add(device));
      lanes.push_back(recorder.add(model::Lane{{}, devices.back(), "", model::LaneRole::compute, {}}));
    }
    for (const int stage : {0, 1, 2})
      recorder.add(model::Stage{executable, stage, devices[stage == 2 ? 1 : 0], "", 0, {}});
    for (const int from : {0, 1}) {
      recorder.add(model::Boundary{executable, from, from + 1, model::TransferKind::activation, "", "",
                                   model::Bytes(8), Ticks(0)});
    }
    model::Run called;
    called.executable = executable;
    called.end = Ticks(30 + kMicroBatches * hostTicks);
    run = recorder.add(called);
    for (int m = 0; m < kMicroBatches; ++m) {
      const std::int64_t copies = (6 + hostTicks) * m, start = copies + hostTicks;
      if (hostTicks > 0) place(0, host, m, copies, start);
      place(0, model::Pass::forward, m, start, start + 3);
      place(1, model::Pass::forward, m, start + 3, start + 6);
      place(2, model::Pass::forward, m, start + 6, start + 12);
    }
    EXPECT_TRUE(recorder.commit().ok());
  }

  void place(int stage, model::Pass pass, int microBatch, std::int64_t start, std::int64_t end) {
    const std::size_t device = stage == 2 ? 1 : 0;
    const model::SegmentId segment = recorder.add(model::Segment{
        {}, executable, devices[device], lanes[device], stage, 0, pass, "", Ticks(end - start)});
    model::Placement row;
    row.segment = segment;
    row.device = devices[device];
    row.start = Ticks(start);
    row.end = Ticks(end);
    row.run = run;
    row.stage = stage;
    row.pass = pass;
    row.microBatch = microBatch;
    row.iteration = 0;
    recorder.add(row);
  }

  StagesReport report() {
    const auto catalog = loadCatalog(profile).value();
    auto made = stagesReport(profile, *catalog, executable);
    EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().message);
    return made.ok() ? *made : StagesReport();
  }
};

TEST(Stages, DevicesThatTakeEquallyLongLoseNothingToImbalance) {
  const LostTime lost = ThreeStages().report().lost;
  // Device 0 holds two stages of 3 ticks, device 1 one of 6. Device 0 works for 24 ticks, then stage 2 takes
  // 6 for the last micro-batch.
  EXPECT_DOUBLE_EQ(lost.step, 30);
  EXPECT_DOUBLE_EQ(lost.useful, 24) << "4 micro-batches × 12 ticks on 2 devices";
  EXPECT_DOUBLE_EQ(lost.fillAndDrain, 30 - 24);
  EXPECT_DOUBLE_EQ(lost.imbalance, 0);
  EXPECT_DOUBLE_EQ(lost.exchangeUpdateHost, 0);
  EXPECT_DOUBLE_EQ(lost.useful + lost.fillAndDrain + lost.imbalance + lost.exchangeUpdateHost, lost.step);
}

/// The same as ThreeStages, as another tool recorded it in a call of `ticks`.
LostTime lostOfRecorded(ThreeStages& pipeline, std::int64_t ticks) {
  pipeline.recorder.add(model::Property{"imported_from", "trace.json"});
  model::Run call;
  call.executable = pipeline.executable;
  call.end = Ticks(ticks);
  pipeline.run = pipeline.recorder.add(call);
  for (int m = 0; m < ThreeStages::kMicroBatches; ++m) {
    pipeline.place(0, model::Pass::forward, m, 6 * m, 6 * m + 3);
    pipeline.place(1, model::Pass::forward, m, 6 * m + 3, 6 * m + 6);
    pipeline.place(2, model::Pass::forward, m, 6 * m + 6, 6 * m + 12);
  }
  EXPECT_TRUE(pipeline.recorder.commit().ok());
  return pipeline.report().lost;
}

TEST(Stages, ARecordedStepThatItsPassesDoNotFitIntoHasNoLostTimes) {
  ThreeStages fits, shorter;
  const LostTime whole = lostOfRecorded(fits, 30);
  EXPECT_TRUE(whole.replayed);
  EXPECT_DOUBLE_EQ(whole.useful, 24);
  EXPECT_DOUBLE_EQ(whole.exchangeUpdateHost, 0);
  // The passes need 30 ticks one behind the other.
  const LostTime none = lostOfRecorded(shorter, 28);
  EXPECT_FALSE(none.replayed);
  EXPECT_DOUBLE_EQ(none.step, 28);
  EXPECT_DOUBLE_EQ(none.useful + none.fillAndDrain + none.imbalance + none.exchangeUpdateHost, 0);
}

TEST(Stages, ADeviceCountsAllItsStagesInTheImbalance) {
  const StagesReport report = ThreeStages().report();
  EXPECT_EQ(report.imbalance, 1) << "6 ticks on each device";
  EXPECT_EQ(report.imbalanceForward, 1);
  EXPECT_EQ(report.imbalanceBackward, std::nullopt) << "there is no backward pass";
  EXPECT_DOUBLE_EQ(report.stages[0].share, 0.25);
  EXPECT_DOUBLE_EQ(report.stages[0].ratioToSlowest, 0.5);
}

TEST(Stages, TheBubbleIsFillAndDrain) {
  const StagesReport report = ThreeStages().report();
  // Device 1 waits 6 of 2 × 30 ticks at the start, and device 0 waits 6 at the end.
  EXPECT_DOUBLE_EQ(report.bubble.fraction(), 12.0 / 60);
  EXPECT_DOUBLE_EQ(report.bubble.rampUp, 6.0 / 60);
  EXPECT_DOUBLE_EQ(report.bubble.steady, 0);
  EXPECT_DOUBLE_EQ(report.bubble.rampDown, 6.0 / 60);
}

TEST(Stages, HostCopiesDecideWhichStageLimits) {
  const StagesReport without = ThreeStages().report();
  EXPECT_EQ(without.slowestStage, 2);
  EXPECT_EQ(without.limitingStage, 2);
  for (const model::Pass host : {model::Pass::hostIn, model::Pass::hostOut}) {
    const StagesReport with = ThreeStages(4, host).report();
    EXPECT_EQ(with.slowestStage, 2);
    EXPECT_EQ(with.limitingStage, 0);
    ASSERT_NE(with.limiting(), nullptr);
    EXPECT_DOUBLE_EQ(with.limiting()->occupied, 3 + 4);
    EXPECT_DOUBLE_EQ(with.slowest()->occupied, 6);
  }
}

TEST(Stages, TheSectionNamesTheLimitingStage) {
  ThreeStages made(4);
  const auto catalog = loadCatalog(made.profile).value();
  const sections::Context context{made.profile, *catalog, made.executable};
  const auto section = sections::makeSection(*sections::sectionRegistry().find("stages"), context);
  ASSERT_TRUE(section.ok()) << section.error().message;
  const std::string text = sections::toText(*section), json = sections::toJson(*section);
  EXPECT_NE(text.find("  Limiting stage" + std::string(20, ' ') + "stage 0\n"), std::string::npos) << text;
  EXPECT_NE(
      text.find(
          "Stage 2 computes longest, but stage 0 takes longer with its host copies and exchange: 7 cycles "
          "instead of 6 cycles per micro-batch. The other stages wait for it."),
      std::string::npos)
      << text;
  EXPECT_NE(json.find("\"limiting_stage\": 0"), std::string::npos) << json;
}

TEST(Stages, EqualStagesAreSaidToBeEqual) {
  const auto remarksOf = [](ThreeStages& made) {
    const auto catalog = loadCatalog(made.profile).value();
    const sections::Context context{made.profile, *catalog, made.executable};
    return sections::makeSection(*sections::sectionRegistry().find("stages"), context).value().remarks;
  };
  ThreeStages equal(3);  // stage 0 takes 3 ticks and 3 for its copies, stage 2 takes 6
  const StagesReport report = equal.report();
  EXPECT_TRUE(report.stages[0].limits);
  EXPECT_FALSE(report.stages[1].limits);
  EXPECT_TRUE(report.stages[2].limits);
  EXPECT_EQ(remarksOf(equal),
            std::vector<std::string>{
                "Stages 0 and 2 take equally long (within 1 %). The other stages wait for them."});
  ThreeStages inTurn(3, model::Pass::hostIn, model::ScheduleKind::oneAtATime);
  EXPECT_EQ(remarksOf(inTurn),
            std::vector<std::string>{"A micro-batch passes through all stages before the next "
                                     "one starts, so each stage waits for all others."});
  ThreeStages different(2);
  EXPECT_FALSE(different.report().stages[0].limits);
  EXPECT_EQ(remarksOf(different), std::vector<std::string>());
}

TEST(Stages, TheLimitingStageListsItsCopies) {
  const StagesReport report = ThreeStages(4).report();
  const std::vector<StageOperation>& operations = report.limiting()->operations;
  ASSERT_EQ(operations.size(), 1U) << "the profile has no operators";
  EXPECT_EQ(operations[0].name, "copies from the host");
  EXPECT_DOUBLE_EQ(operations[0].ticksPerMicroBatch, 4);
  EXPECT_DOUBLE_EQ(operations[0].share, 4.0 / 7);
}

TEST(Stages, LoadsFromRemoteBuffersOccupyTheStage) {
  const StageReport stage = ThreeStages(4, model::Pass::remote).report().stages[0];
  EXPECT_DOUBLE_EQ(stage.remote, 4);
  EXPECT_DOUBLE_EQ(stage.hostIn + stage.hostOut, 0);
  EXPECT_DOUBLE_EQ(stage.occupied, 3 + 4);
  ASSERT_EQ(stage.operations.size(), 1U);
  EXPECT_EQ(stage.operations[0].name, "loads and stores of remote buffers");
}

TEST(Stages, TransfersLimitWhereTheyKeepTheDeviceFromComputing) {
  for (const model::ScheduleKind kind : {model::ScheduleKind::barrier, model::ScheduleKind::dependency}) {
    ThreeStages made(0, model::Pass::hostIn, kind);
    // Device 1 sends for 2 ticks in all, after its last pass.
    model::Transfer transfer;
    transfer.fromLane = made.lanes[1];
    transfer.start = Ticks(30), transfer.end = Ticks(32);
    transfer.run = made.run;
    made.recorder.add(transfer);
    ASSERT_TRUE(made.recorder.commit().ok());
    const StagesReport report = made.report();
    const bool barrier = kind == model::ScheduleKind::barrier;
    EXPECT_DOUBLE_EQ(report.stages[2].exchange, barrier ? 0.5 : 0) << "2 ticks ÷ 4 micro-batches";
    EXPECT_DOUBLE_EQ(report.stages[2].occupied, barrier ? 6.5 : 6);
    EXPECT_EQ(report.limitingStage, 2);
  }
}

TEST(Stages, StagesOfOneDeviceShareItsExchange) {
  ThreeStages made(0, model::Pass::hostIn, model::ScheduleKind::barrier);
  // Device 0, which holds two stages, receives for 2 ticks in all while it does not work.
  model::Transfer transfer;
  transfer.toLane = made.lanes[0];
  transfer.start = Ticks(30), transfer.end = Ticks(32);
  transfer.run = made.run;
  made.recorder.add(transfer);
  ASSERT_TRUE(made.recorder.commit().ok());
  const StagesReport report = made.report();
  // 2 ticks ÷ 4 micro-batches ÷ 2 stages; together they are the 2 ticks again.
  EXPECT_DOUBLE_EQ(report.stages[0].exchange, 0.25);
  EXPECT_DOUBLE_EQ(report.stages[1].exchange, 0.25);
  EXPECT_DOUBLE_EQ(report.stages[2].exchange, 0);
}

/// A recorded run of four stages, of which the trace holds the first and the third one: each has a forward
/// and a backward pass in each of two steps.
struct TwoOfFourStages {
  record::MemoryProfile profile;
  std::shared_ptr<const Catalog> catalog;
  model::ExecutableId executable;

  TwoOfFourStages() {
    record::Recorder recorder(profile);
    recorder.add(model::Property{"imported_from", "test"});
    model::Executable row;
    row.kind = model::ExecutableKind::training;
    row.stages = 4;
    row.microBatches = 1;
    row.deviceIterations = 2;
    executable = recorder.add(row);
    model::Run run;
    run.executable = executable;
    run.end = Ticks(400);
    const model::RunId runId = recorder.add(run);
    for (const int stage : {0, 2}) {
      model::Device device;
      device.name = "rank " + std::to_string(stage);
      device.ticksPerSecond = 1'000'000;
      const model::DeviceId id = recorder.add(device);
      recorder.add(model::Stage{executable, stage, id, "", 0, {}});
      for (const int iteration : {0, 1}) {
        for (const model::Pass pass : {model::Pass::forward, model::Pass::backward}) {
          const bool forward = pass == model::Pass::forward;
          model::Placement placement;
          placement.device = id;
          placement.run = runId;
          placement.stage = stage;
          placement.pass = pass;
          placement.microBatch = 0;
          placement.iteration = iteration;
          placement.start = Ticks(200 * iteration + (forward ? 0 : 100));
          placement.end = placement.start + Ticks((forward ? 10 : 20) * (stage + 1));
          recorder.add(placement);
        }
      }
    }
    EXPECT_TRUE(recorder.finish(model::ProfileState::complete).ok());
    catalog = loadCatalog(profile).value();
  }
};

TEST(Stages, OfARecordedRunAreComparedWhereOthersAreMissing) {
  const TwoOfFourStages made;
  const auto report = stagesReport(made.profile, *made.catalog, made.executable);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->missing, (std::vector<int>{1, 3}));
  ASSERT_EQ(report->stages.size(), 4U);
  for (const int stage : {0, 1, 2, 3}) {
    EXPECT_EQ(report->stages[static_cast<std::size_t>(stage)].index, stage);
    EXPECT_EQ(report->stages[static_cast<std::size_t>(stage)].recorded, stage % 2 == 0);
  }
  EXPECT_DOUBLE_EQ(report->stages[0].busy, 30);
  EXPECT_DOUBLE_EQ(report->stages[2].busy, 90);
  EXPECT_DOUBLE_EQ(report->stages[2].share, 0.75);
  ASSERT_TRUE(report->imbalance.has_value());
  EXPECT_DOUBLE_EQ(*report->imbalance, 1.5) << "90 ÷ the mean of 30 and 90";
  EXPECT_EQ(report->slowestStage, 2);
  EXPECT_EQ(report->limiting(), nullptr) << "a missing stage may be longer";
  EXPECT_EQ(report->lost.step, 0);

  base::SilentProgress progress;
  const auto grid = pipelineGrid(made.profile, *made.catalog, {made.executable, {}, 0, 1000}, progress);
  ASSERT_TRUE(grid.ok()) << grid.error().message;
  EXPECT_EQ(grid->cells.size(), 4U);
  EXPECT_FALSE(grid->whole);
  EXPECT_FALSE(grid->criticalKnown);
  EXPECT_EQ(grid->firstFullColumn, -1);
}

TEST(Stages, WithoutACallNoStageIsSlowest) {
  record::MemoryProfile profile;
  record::Recorder recorder(profile);
  model::Executable row;
  row.name = "training";
  const model::ExecutableId executable = recorder.add(row);
  model::Device device;
  recorder.add(model::Stage{executable, 0, recorder.add(device), "", 0, {}});
  ASSERT_TRUE(recorder.finish(model::ProfileState::complete).ok());
  const auto catalog = loadCatalog(profile).value();
  const auto report = stagesReport(profile, *catalog, executable);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->slowest(), nullptr);
  EXPECT_EQ(report->limiting(), nullptr);
}

/// A damaged file may state any lengths of passes.
TEST(EvenCostsTest, CostsThatNoClockCanHoldHaveNoMakespan) {
  std::vector<model::Placement> iteration(2);
  iteration[0].device = iteration[1].device = model::DeviceId(0);
  iteration[0].end = iteration[1].start = Ticks(3);
  iteration[1].end = Ticks(9);
  iteration[0].stage = iteration[1].stage = 0;
  iteration[0].microBatch = iteration[1].microBatch = 0;
  iteration[1].pass = model::Pass::backward;
  const EvenCosts costs(iteration, 1, model::ScheduleKind::dependency, 1);
  EXPECT_DOUBLE_EQ(costs.makespan({{3, 6}}), 9);
  for (const double wrong :
       {std::numeric_limits<double>::quiet_NaN(), 1e300, -1e300, std::numeric_limits<double>::infinity()})
    EXPECT_EQ(costs.makespan({{wrong, 6}}), 0) << wrong;
}

TEST(StageTexts, ConsecutiveLimitingStagesAreARange) {
  const auto named = [](const std::vector<int>& limiting) {
    StagesReport report;
    report.stages.resize(13);
    for (int i = 0; i < 13; ++i) report.stages[static_cast<std::size_t>(i)].index = i;
    for (const int stage : limiting) report.stages[static_cast<std::size_t>(stage)].limits = true;
    return sections::limitingStages(report);
  };
  EXPECT_EQ(named({}), "");
  EXPECT_EQ(named({3}), "stage 3");
  EXPECT_EQ(named({3, 4}), "stages 3 and 4");
  EXPECT_EQ(named({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}), "stages 1–11");
  EXPECT_EQ(named({0, 2, 3, 4, 7, 8, 12}), "stages 0, 2–4, 7, 8 and 12");
}

}  // namespace
}  // namespace pipescope::analysis
