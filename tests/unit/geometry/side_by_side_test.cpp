// A card in one piece whose engines work side by side, and replicas of which one is recorded; by hand
// (ticks):
//
// placement on the engines 0–100: MME [0,60) and [80,90), TPC [40,70); on the NIC 80–140, all of it
// communication
#include <gtest/gtest.h>

#include "profiler/analysis/device_places.h"
#include "profiler/analysis/timeline/far_statistics.h"
#include "profiler/geometry/timeline/overview.h"
#include "profiler/geometry/timeline/timeline_layout.h"
#include "profiler/geometry/timeline/timeline_scene.h"
#include "profiler/record/memory_profile.h"
#include "profiler/record/recorder.h"

namespace pipescope::analysis {
namespace {

using model::LaneRole;
using model::StepKind;

struct Cards {
  record::MemoryProfile profile;
  record::Recorder recorder{profile};
  model::ExecutableId executable;
  std::vector<model::DeviceId> devices;
  std::map<LaneRole, model::LaneId> lanes;  ///< lanes of the first card
  std::shared_ptr<const Catalog> catalog;

  /// The NIC begins at `talks`; the engines wait for it once they are done.
  explicit Cards(int cards = 3, int replicas = 2, std::int64_t talks = 80) {
    recorder.add(model::Target{"box", "gaudi", "", cards, replicas, model::TickMeaning::time});
    for (int d = 0; d < cards; ++d) {
      model::Device device;
      device.kind = "gaudi2";
      device.name = "HPU" + std::to_string(d);
      device.units = 1;
      device.unitName = "card";
      device.ticksPerSecond = 1'000'000'000'000;
      devices.push_back(recorder.add(device));
      for (const LaneRole role : {LaneRole::matrix, LaneRole::vector, LaneRole::network}) {
        const model::LaneId lane = recorder.add(model::Lane{{}, devices.back(), "", role, {}});
        if (d == 0) lanes[role] = lane;
      }
    }
    recorder.add(model::laneTitleProperty(LaneRole::matrix, "MME"));
    recorder.add(model::laneTitleProperty(LaneRole::vector, "TPC"));
    model::Executable row;
    row.name = "training";
    row.stages = 1;
    row.replicas = replicas;
    executable = recorder.add(row);
    recorder.add(model::Stage{executable, 0, devices[0], "B", 0, {}});
    const model::SegmentId work = segment(LaneRole::matrix, model::Pass::forward, 100);
    step(work, LaneRole::matrix, StepKind::compute, 0, 60);
    step(work, LaneRole::vector, StepKind::compute, 40, 30);
    step(work, LaneRole::matrix, StepKind::compute, 80, 10);
    const model::SegmentId talk = segment(LaneRole::network, model::Pass::collective, 60);
    step(talk, LaneRole::network, StepKind::globalExchange, 0, 60);
    place(work, model::Pass::forward, 0, 100);
    place(talk, model::Pass::collective, talks, talks + 60);
    if (talks >= 100) {
      model::Wait wait;
      wait.device = devices[0];
      wait.start = Ticks(100);
      wait.end = Ticks(talks + 60);
      wait.cause = model::WaitCause::collective;
      wait.run = model::RunId(0);
      wait.iteration = 0;
      recorder.add(wait);
    }
    model::Run run;
    run.executable = executable;
    run.end = Ticks(200);
    recorder.add(run);
    EXPECT_TRUE(recorder.finish(model::ProfileState::complete).ok());
    catalog = *loadCatalog(profile);
  }

  model::SegmentId segment(LaneRole lane, model::Pass pass, std::int64_t ticks) {
    model::Segment row;
    row.executable = executable;
    row.device = devices[0];
    row.lane = lanes.at(lane);
    row.stage = 0;
    row.pass = pass;
    row.ticks = Ticks(ticks);
    return recorder.add(row);
  }
  void step(model::SegmentId segment, LaneRole lane, StepKind kind, std::int64_t offset, std::int64_t ticks) {
    model::Step row;
    row.segment = segment;
    row.lane = lanes.at(lane);
    row.offset = Ticks(offset);
    row.ticks = row.minTicks = row.maxTicks = Ticks(ticks);
    row.meanTicks = static_cast<double>(ticks);
    row.activeUnits = 1;
    row.kind = kind;
    recorder.add(row);
  }
  void place(model::SegmentId segment, model::Pass pass, std::int64_t start, std::int64_t end) {
    model::Placement row;
    row.segment = segment;
    row.device = devices[0];
    row.start = Ticks(start);
    row.end = Ticks(end);
    row.run = model::RunId(0);
    row.stage = 0;
    row.pass = pass;
    row.iteration = 0;
    recorder.add(row);
  }

  std::shared_ptr<const Trace> trace() const {
    base::SilentProgress progress;
    return *loadTrace(profile, *catalog, {executable, {}, {}}, progress);
  }
};

TEST(SideBySide, EachInstantCountsOnce) {
  const Cards cards;
  const auto trace = cards.trace();
  ASSERT_EQ(trace->devices[0].tracks.size(), 2U) << "the NIC works beside the engines";
  const RangeStatistics row = rangeStatistics(*trace, Ticks(0), Ticks(200)).front();
  EXPECT_EQ(row.byKind[kindIndex(StepKind::compute)], 70 + 10)
      << "40–60 on two engines is one stretch of time";
  EXPECT_EQ(row.byKind[kindIndex(StepKind::globalExchange)], 40)
      << "80–100 is hidden behind the engines' work";
  EXPECT_EQ(row.byKind[kindIndex(StepKind::control)], 20) << "70–80 and 90–100: the placement goes on";
  EXPECT_EQ(row.idle, Ticks(60));
  EXPECT_DOUBLE_EQ(row.parallelEfficiency, 80.0 / 200);
  const RangeStatistics cut = rangeStatistics(*trace, Ticks(90), Ticks(110)).front();
  EXPECT_EQ(cut.byKind[kindIndex(StepKind::globalExchange)], 10);
  EXPECT_EQ(cut.idle, Ticks(0));
}

TEST(SideBySide, EnginesMayWaitWhileTheNicWorks) {
  const auto trace = Cards(3, 2, 100).trace();
  ASSERT_EQ(trace->devices[0].tracks.size(), 2U);
  EXPECT_EQ(trace->damagedRows, 0) << "a wait beside another lane's work contradicts nothing";
  EXPECT_EQ(trace->devices[0].tracks[0].waits.size(), 1U);
}

/// Work on one lane that overlaps other work of that lane, or a wait of the device, is legal. By hand
/// (ticks): the NIC works in 80–140, and again in 90–100 and 150–170; the device waits in 130–200.
TEST(SideBySide, WorkThatOverlapsOnALaneGetsATrackOfItsOwn) {
  Cards cards(1, 1);
  const model::SegmentId shorter = cards.segment(LaneRole::network, model::Pass::sync, 10);
  cards.step(shorter, LaneRole::network, StepKind::sync, 0, 10);
  cards.place(shorter, model::Pass::sync, 90, 100);
  const model::SegmentId later = cards.segment(LaneRole::network, model::Pass::collective, 20);
  cards.step(later, LaneRole::network, StepKind::globalExchange, 0, 20);
  cards.place(later, model::Pass::collective, 150, 170);
  model::Wait wait;
  wait.device = cards.devices[0];
  wait.start = Ticks(95);
  wait.end = Ticks(200);
  wait.run = model::RunId(0);
  cards.recorder.add(wait);
  ASSERT_TRUE(cards.recorder.finish(model::ProfileState::complete).ok());
  cards.catalog = *loadCatalog(cards.profile);
  const auto trace = cards.trace();
  EXPECT_EQ(trace->damagedRows, 0);
  const auto& tracks = trace->devices[0].tracks;
  ASSERT_EQ(tracks.size(), 3U) << "the engines and two for the NIC";
  EXPECT_EQ(tracks[1].placements.size(), 2U);
  ASSERT_EQ(tracks[2].placements.size(), 1U);
  EXPECT_EQ(tracks[2].placements[0].start, Ticks(90));
  EXPECT_EQ(tracks[1].lane, tracks[2].lane);
  EXPECT_EQ(tracks[1].flameLanes.size(), tracks[2].flameLanes.size());
  ASSERT_EQ(tracks[0].activities.size(), 2U) << "the engines work, then the device waits";
  EXPECT_EQ(tracks[0].activities[1].start, Ticks(100)) << "the engines work until then";
  EXPECT_EQ(tracks[0].activities[1].end, Ticks(200));
  const RangeStatistics row = rangeStatistics(*trace, Ticks(0), Ticks(200)).front();
  EXPECT_EQ(row.byKind[kindIndex(StepKind::globalExchange)], 40 + 20);
  EXPECT_EQ(row.byKind[kindIndex(StepKind::sync)], 0) << "90–100 belongs to the engines";
  EXPECT_EQ(row.idle, Ticks(200 - 140 - 20));
  base::SilentProgress progress;
  const auto far = farStatistics(cards.profile, *trace, Ticks(0), Ticks(200), progress);
  ASSERT_TRUE(far.ok());
  EXPECT_EQ(far->front().byKind, row.byKind);
  EXPECT_EQ(far->front().idle, row.idle);
}

TEST(SideBySide, FromAfarTheSameIsCounted) {
  const Cards cards;
  const auto trace = cards.trace();
  base::SilentProgress progress;
  const auto far = farStatistics(cards.profile, *trace, Ticks(0), Ticks(200), progress);
  ASSERT_TRUE(far.ok());
  const RangeStatistics near = rangeStatistics(*trace, Ticks(0), Ticks(200)).front();
  EXPECT_EQ(far->front().byKind, near.byKind);
  EXPECT_EQ(far->front().idle, near.idle);
  EXPECT_DOUBLE_EQ(far->front().parallelEfficiency, near.parallelEfficiency);
}

TEST(SideBySide, ReplicasThatAreNotRecordedAreNotIdle) {
  const Cards cards;
  const auto trace = cards.trace();
  EXPECT_EQ(trace->replicas, 2);
  EXPECT_EQ(trace->recordedReplicas, std::vector<std::int32_t>{0});
  EXPECT_TRUE(trace->devices[0].recorded);
  EXPECT_FALSE(trace->devices[1].recorded) << "it does what the first does";
  EXPECT_TRUE(trace->devices[2].recorded) << "nothing runs on it: that is idle";
  EXPECT_EQ(trace->devices[1].stages, std::vector<std::int32_t>{0});
  const auto rows = rangeStatistics(*trace, Ticks(0), Ticks(200));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[1].device, 2);
  EXPECT_EQ(rows[1].idle, Ticks(200));
  EXPECT_EQ(geometry::shownDevices(*trace, {}), (std::vector<int>{0, 2}));
}

TEST(SideBySide, LanesHaveTheirNames) {
  const Cards cards;
  const auto model = geometry::TimelineModel::make(cards.trace());
  std::vector<std::string> flames;
  for (const geometry::TimelineRow& row : geometry::layOutTimeline(*model, {}).rows) {
    if (row.kind == geometry::RowKind::flame && row.track == 0) flames.push_back(row.label);
  }
  EXPECT_EQ(flames, (std::vector<std::string>{"MME", "TPC"}));
  EXPECT_EQ(geometry::layOutTimeline(*model, {}).groups[0].subtitle, "gaudi2 · stage 0");
}

TEST(SideBySide, TheOverviewIsOfWhatWasRecorded) {
  const Cards cards;
  const auto trace = cards.trace();
  const auto model = geometry::TimelineModel::make(trace);
  const geometry::Shapes shapes =
      geometry::overview(*model, geometry::TimeView(trace->start, trace->end, 400), 40, false);
  int least = 40, most = 0, recorded = 0;
  for (const DeviceTrace& device : trace->devices) recorded += device.recorded ? 1 : 0;
  for (const auto& fills : shapes.fills) {
    for (const geometry::Box& rect : fills) {
      least = std::min(least, rect.y);
      most = std::max(most, rect.y + rect.height);
    }
  }
  EXPECT_EQ(recorded, 2) << "the first card and the idle one";
  EXPECT_EQ(least, 0);
  EXPECT_EQ(most, 40 / recorded - 1) << "half of the strip, but for the gap: the second card has no lane";
}

TEST(DevicePlaces, FollowTheFirstReplica) {
  const Cards cards;
  const auto places = devicePlaces(*cards.catalog, cards.executable);
  ASSERT_EQ(places.size(), 3U);
  EXPECT_EQ(places.items()[0].replica, 0);
  EXPECT_EQ(places.items()[1].replica, 1);
  EXPECT_EQ(places.items()[2].replica, -1);
  EXPECT_TRUE(places.items()[2].stages.empty());
  EXPECT_TRUE(devicePlaces(*cards.catalog, model::ExecutableId(7)).front().stages.empty());
  const Cards wrong(1, 1'000'000'000);
  EXPECT_EQ(devicePlaces(*wrong.catalog, wrong.executable).size(), 1U)
      << "as many replicas as there are devices for";
}

}  // namespace
}  // namespace pipescope::analysis
