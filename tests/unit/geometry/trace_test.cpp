#include "profiler/analysis/timeline/trace.h"

#include "small_profile.h"

namespace pipescope::analysis {
namespace {

using testing::Pass;
using testing::SmallProfile;
using testing::StepKind;

TEST(Trace, SortsWhatHappenedByDevice) {
  SmallProfile small;
  small.fill();
  const auto trace = small.trace();
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace->start, Ticks(0));
  EXPECT_EQ(trace->end, Ticks(800));
  ASSERT_EQ(trace->devices.size(), 2U);
  const DeviceTrace& first = trace->devices[0];
  EXPECT_EQ(first.name, "D0");
  EXPECT_EQ(first.stages, std::vector<std::int32_t>{0});
  ASSERT_EQ(first.tracks.size(), 1U);
  EXPECT_EQ(first.tracks[0].placements.size(), 6U);
  EXPECT_EQ(first.tracks[0].passes.size(), 6U);
  // call, F0, wait, B0, U and again without the call
  ASSERT_EQ(first.tracks[0].activities.size(), 9U);
  EXPECT_EQ(first.tracks[0].activities[0].kind, Activity::Kind::wait);
  EXPECT_EQ(first.tracks[0].activities[1].kind, Activity::Kind::pass);
  EXPECT_EQ(trace->damagedRows, 0);
  ASSERT_EQ(trace->iterations.size(), 2U);
  EXPECT_EQ(trace->iterations[0].start, Ticks(0)) << "the call begins";
  EXPECT_EQ(trace->iterations[0].end, Ticks(310));
  EXPECT_EQ(trace->iterations[1].start, Ticks(310)) << "the last update of iteration 0 has ended";
  EXPECT_EQ(trace->iterations[1].end, Ticks(800)) << "the call ends";
}

TEST(Trace, NamePathsBecomeFlameRows) {
  SmallProfile small;
  small.fill();
  const auto trace = small.trace();
  ASSERT_TRUE(trace);
  const TraceTrack& track = trace->devices[0].tracks[0];
  ASSERT_EQ(track.flameLanes.size(), 1U);
  EXPECT_FALSE(track.flameLanes[0].lane.valid());
  EXPECT_EQ(track.flameLanes[0].depth, 3);
  const TraceSegment* segment = trace->segmentOf(track.placements[0]);
  ASSERT_NE(segment, nullptr);
  ASSERT_EQ(segment->flame.size(), 1U);
  const auto& rows = segment->flame[0];
  const auto name = [&](std::size_t level, std::size_t box) {
    return trace->names[static_cast<std::size_t>(rows[level].boxes[box].name)];
  };
  ASSERT_EQ(rows.size(), 3U);
  ASSERT_EQ(rows[0].boxes.size(), 1U) << "one layer holds all three steps";
  EXPECT_EQ(name(0, 0), "layer");
  EXPECT_EQ(rows[0].boxes[0].end, Ticks(60));
  EXPECT_EQ(rows[0].boxes[0].step, -1);
  EXPECT_EQ(rows[0].boxes[0].kind, StepKind::compute) << "50 of 60 ticks";
  ASSERT_EQ(rows[1].boxes.size(), 2U);
  EXPECT_EQ(name(1, 0), "conv");
  EXPECT_EQ(rows[1].boxes[0].end, Ticks(30));
  EXPECT_EQ(name(1, 1), "relu");
  EXPECT_EQ(rows[1].boxes[1].step, 2);
  ASSERT_EQ(rows[2].boxes.size(), 2U);
  EXPECT_EQ(name(2, 1), "b");
  EXPECT_EQ(rows[2].boxes[1].kind, StepKind::exchange);
  EXPECT_EQ(rows[2].widest, 0);
}

TEST(Trace, EachTransferIsSeenFromBothSides) {
  SmallProfile small;
  small.fill();
  const auto trace = small.trace();
  ASSERT_EQ(trace->transfers.size(), 2U);
  ASSERT_EQ(trace->devices[0].transferLanes.size(), 1U);
  EXPECT_TRUE(trace->devices[0].transferLanes[0].outgoing);
  EXPECT_EQ(trace->devices[0].transferLanes[0].peer, small.devices[1]);
  EXPECT_EQ(trace->devices[0].transferLanes[0].transfers.size(), 2U);
  ASSERT_EQ(trace->devices[1].transferLanes.size(), 1U);
  EXPECT_FALSE(trace->devices[1].transferLanes[0].outgoing);
}

TEST(Trace, TimeThatOnlyTransfersTakeIsAnActivity) {
  SmallProfile small;
  small.place(small.forward0, 0, 100, 160, Pass::forward, 0, 0);
  small.wait(0, 200, 220, model::WaitCause::exchange, {}, 0);
  small.transfer(0, 1, 150, 180, model::TransferKind::activation, 0, 0);
  small.transfer(1, 0, 170, 230, model::TransferKind::gradient, 0, 0);
  small.addRun(0, 300);
  const auto trace = small.trace();
  const auto& activities = trace->devices[0].tracks[0].activities;
  ASSERT_EQ(activities.size(), 4U) << "pass, transfers, wait, transfers";
  EXPECT_EQ(activities[1].kind, Activity::Kind::transfer);
  EXPECT_EQ(activities[1].start, Ticks(160));
  EXPECT_EQ(activities[1].end, Ticks(200));
  EXPECT_EQ(activities[1].index, 1) << "the longer of the two";
  EXPECT_EQ(activities[3].start, Ticks(220));
  EXPECT_EQ(activities[3].end, Ticks(230));
  EXPECT_EQ(trace->devices[1].tracks[0].activities.size(), 1U);
}

TEST(Trace, TransfersThatOverlapGetLanesUpToALimit) {
  SmallProfile small;
  for (int i = 0; i < 12; ++i) small.transfer(0, 1, 10 + i, 500, model::TransferKind::activation, i, 0);
  small.transfer(0, 1, 500, 600, model::TransferKind::activation, 3, 0);
  small.addRun(0, 800);
  const auto trace = small.trace();
  EXPECT_EQ(trace->devices[0].transferLanes.size(), 8U);
  EXPECT_EQ(trace->devices[0].transferLanes[0].transfers.size(), 2U) << "the first lane is free again";
  for (const std::size_t device : {0U, 1U}) {
    ASSERT_EQ(trace->devices[device].crowdedTransfers.size(), 1U);
    EXPECT_EQ(trace->devices[device].crowdedTransfers[0].transfers.size(), 4U);
  }
  const auto rows = analysis::rangeStatistics(*trace, Ticks(0), Ticks(800));
  EXPECT_EQ(rows[0].globalOut, 13 * trace->transfers.front().bytes) << "those that are not drawn count, too";
  EXPECT_EQ(rows[1].globalIn, rows[0].globalOut);
  EXPECT_EQ(rows[0].globalIn, Bytes(0));
}

TEST(Trace, PlacementsAreFoundById) {
  SmallProfile small;
  small.fill();
  const auto trace = small.trace();
  const auto place = trace->find(model::PlacementId(1));
  ASSERT_TRUE(place);
  EXPECT_EQ(place->device, 1);
  EXPECT_EQ(trace->at(*place).start, Ticks(180));
  EXPECT_FALSE(trace->find(model::PlacementId(99)));
  EXPECT_FALSE(trace->find({}));
}

TEST(Trace, PiecesOfAPassAreOneBox) {
  SmallProfile small;
  const auto second = small.segment(0, Pass::forward, 5);
  small.place(small.forward0, 0, 0, 60, Pass::forward, 0, 0);
  small.place(second, 0, 60, 65, Pass::forward, 0, 0);
  small.place(second, 0, 65, 70, Pass::forward, 1, 0);
  small.place(second, 0, 75, 80, Pass::forward, 1, 0);
  small.addRun(0, 100);
  const auto trace = small.trace();
  const TraceTrack& track = trace->devices[0].tracks[0];
  ASSERT_EQ(track.passes.size(), 3U) << "two segments of micro-batch 0 touch; those of micro-batch 1 do not";
  EXPECT_EQ(track.passes[0].end, Ticks(65));
  EXPECT_EQ(track.passes[0].placements, 2);
}

TEST(Trace, LanesThatWorkSideBySideGetTracks) {
  SmallProfile small;
  const auto copy = small.segment(0, Pass::hostIn, 50, small.exchange[0]);
  small.place(small.forward0, 0, 0, 60, Pass::forward, 0, 0);
  small.place(copy, 0, 20, 70, Pass::hostIn, 1, 0);
  small.addRun(0, 100);
  const auto trace = small.trace();
  ASSERT_EQ(trace->devices[0].tracks.size(), 2U);
  EXPECT_EQ(trace->devices[0].tracks[1].name, "exchange");
  EXPECT_EQ(trace->devices[0].tracks[1].placements.size(), 1U);
  EXPECT_EQ(trace->damagedRows, 0);
}

TEST(Trace, StepsSideBySideGetFlamesPerLane) {
  SmallProfile small;
  const auto both = small.segment(0, Pass::forward, 100);
  small.step(both, 0, StepKind::compute, "a", 0, 80);
  small.step(both, 0, StepKind::exchange, "b", 40, 60, small.exchange[0]);
  small.place(both, 0, 0, 100, Pass::forward, 0, 0);
  small.addRun(0, 100);
  const auto trace = small.trace();
  const TraceTrack& track = trace->devices[0].tracks[0];
  ASSERT_EQ(track.flameLanes.size(), 2U);
  const TraceSegment* segment = trace->segmentOf(track.placements[0]);
  EXPECT_EQ(segment->use.byKind[kindIndex(StepKind::compute)], 80) << "compute comes first where both go on";
  EXPECT_EQ(segment->use.byKind[kindIndex(StepKind::exchange)], 20);
}

TEST(Trace, OtherTimebasesAreConverted) {
  SmallProfile small(500'000);  // D1 ticks half as fast as the axis
  small.place(small.forward1, 1, 100, 120, Pass::forward, 0, 0);
  small.addRun(0, 1000);
  const auto trace = small.trace();
  const DeviceTrace& slow = trace->devices[1];
  EXPECT_DOUBLE_EQ(slow.axisTicksPerTick, 2);
  EXPECT_EQ(slow.tracks[0].placements[0].start, Ticks(200));
  EXPECT_EQ(slow.tracks[0].placements[0].end, Ticks(240));
  const RangeStatistics row = rangeStatistics(*trace, Ticks(0), Ticks(1000))[1];
  EXPECT_EQ(row.byKind[kindIndex(StepKind::compute)], 40);
}

TEST(Trace, RowsThatContradictAreLeftOutAndCounted) {
  SmallProfile small;
  small.fill();
  small.place(small.forward0, 0, 900, 850, Pass::forward, 5, 0);  // ends before it starts
  model::Placement nowhere;
  nowhere.device = model::DeviceId(77);
  nowhere.run = model::RunId(0);
  small.recorder.add(nowhere);
  model::Transfer lost;
  lost.run = model::RunId(0);
  small.recorder.add(lost);
  small.wait(0, 120, 130, model::WaitCause::fill, {}, 0);  // while it works
  const auto trace = small.trace();
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace->damagedRows, 4);
  EXPECT_EQ(trace->devices[0].tracks[0].placements.size(), 6U);
}

TEST(Trace, SegmentsThatTheFileLostAreDrawnWithoutSteps) {
  SmallProfile small;
  small.place(model::SegmentId(99), 0, 0, 50, Pass::forward, 0, 0);
  small.addRun(0, 100);
  const auto trace = small.trace();
  ASSERT_EQ(trace->devices[0].tracks[0].placements.size(), 1U);
  EXPECT_EQ(trace->segmentOf(trace->devices[0].tracks[0].placements[0]), nullptr);
  EXPECT_EQ(rangeStatistics(*trace, Ticks(0), Ticks(100))[0].idle, Ticks(50));
}

TEST(Trace, OnlyTheRunsAskedForAreRead) {
  SmallProfile small;
  small.addRun(0, 100);
  small.addRun(100, 200);
  small.addRun(200, 300);
  for (int run = 0; run < 3; ++run)
    small.place(small.forward0, 0, 100 * run, 100 * run + 60, Pass::forward, 0, 0, model::RunId(run));
  ASSERT_TRUE(small.recorder.commit().ok());
  const auto catalog = loadCatalog(*small.profile);
  base::SilentProgress progress;
  const auto count = [&](model::RunId first, model::RunId last) {
    const auto trace = loadTrace(*small.profile, **catalog, {small.executable, first, last}, progress);
    return (*trace)->devices[0].tracks[0].placements.size();
  };
  EXPECT_EQ(count({}, {}), 1U) << "the last";
  EXPECT_EQ(count(model::RunId(0), model::RunId(0)), 1U);
  EXPECT_EQ(count(model::RunId(0), model::RunId(2)), 3U);
  EXPECT_EQ(count(model::RunId(7), model::RunId(9)), 0U);
}

TEST(Trace, AnUnknownExecutableIsAnError) {
  SmallProfile small;
  ASSERT_TRUE(small.recorder.commit().ok());
  const auto catalog = loadCatalog(*small.profile);
  base::SilentProgress progress;
  const auto trace = loadTrace(*small.profile, **catalog, {model::ExecutableId(9), {}, {}}, progress);
  ASSERT_FALSE(trace.ok());
  EXPECT_EQ(trace.error().message, "The profile has no such executable; choose one of those it lists.");
}

TEST(Trace, ReadingCanBeStopped) {
  struct Stop : base::Progress {
    void report(double, std::string_view) override {}
    bool cancelled() const override { return true; }
  } stop;
  SmallProfile small;
  small.fill();
  ASSERT_TRUE(small.recorder.commit().ok());
  const auto catalog = loadCatalog(*small.profile);
  const auto trace = loadTrace(*small.profile, **catalog, {small.executable, {}, {}}, stop);
  ASSERT_FALSE(trace.ok());
  EXPECT_EQ(trace.error().kind, base::ErrorKind::cancelled);
  EXPECT_EQ(trace.error().message, "Reading the trace was stopped.");
}

TEST(RangeStatistics, WholeRunAddsUp) {
  SmallProfile small;
  small.fill();
  const auto rows = rangeStatistics(*small.trace(), Ticks(0), Ticks(800));
  ASSERT_EQ(rows.size(), 2U);
  // D0, per iteration: forward 50 compute and 10 exchange, backward 60 and update 10 without steps;
  // transfer 20.
  EXPECT_EQ(rows[0].byKind[kindIndex(StepKind::compute)], 2 * (50 + 60 + 10));
  EXPECT_EQ(rows[0].byKind[kindIndex(StepKind::exchange)], 2 * 10);
  EXPECT_EQ(rows[0].byKind[kindIndex(StepKind::globalExchange)], 2 * 20);
  EXPECT_EQ(rows[0].idle, Ticks(800 - 2 * (60 + 60 + 10 + 20)));
  EXPECT_EQ(rows[0].globalOut, base::Bytes(2000));
  EXPECT_EQ(rows[0].globalIn, base::Bytes(0));
  EXPECT_EQ(rows[1].globalIn, base::Bytes(2000));
  EXPECT_DOUBLE_EQ(rows[0].tileBalance, 0.5);
  // Half of 50 ticks of compute steps on all units, twice, of 800.
  EXPECT_DOUBLE_EQ(rows[0].parallelEfficiency, 2 * 25.0 / 800);
}

TEST(RangeStatistics, CutsStepsAtTheEnds) {
  SmallProfile small;
  small.fill();
  // Ticks 115–155 of F0, which runs 100–160: steps [0,20) compute, [20,30) exchange, [30,60) compute.
  const auto rows = rangeStatistics(*small.trace(), Ticks(115), Ticks(155));
  EXPECT_EQ(rows[0].byKind[kindIndex(StepKind::compute)], 5 + 25);
  EXPECT_EQ(rows[0].byKind[kindIndex(StepKind::exchange)], 10);
  EXPECT_EQ(rows[0].idle, Ticks(0));
  EXPECT_EQ(rows[1].idle, Ticks(40));
  EXPECT_DOUBLE_EQ(rows[0].tileBalance, 0) << "no step ends with its placement in the range";
}

TEST(RangeStatistics, AnEmptyRangeIsEmpty) {
  SmallProfile small;
  small.fill();
  const auto rows = rangeStatistics(*small.trace(), Ticks(300), Ticks(300));
  EXPECT_EQ(rows[0].total, Ticks(0));
  EXPECT_EQ(rows[0].idle, Ticks(0));
  EXPECT_DOUBLE_EQ(rows[0].parallelEfficiency, 0);
}

}  // namespace
}  // namespace pipescope::analysis
