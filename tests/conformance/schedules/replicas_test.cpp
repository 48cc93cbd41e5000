// Replicas with given costs. Equal replicas take the time of one, a slow one delays the others, and waits
// name the replica that was waited for.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "profiler/analysis/pipeline/stages.h"
#include "profiler/analysis/pipeline/waits.h"
#include "recorded_schedule.h"

namespace pipescope::tests {
namespace {

compile::FixedRun replicated(const std::string& schedule, int replicas) {
  compile::FixedRun run = fixedRun(schedule, 8, {1, 1, 1, 1}, {2, 2, 2, 2});
  for (auto& stage : run.stages) stage.update = 1;
  run.replicas = replicas;
  run.collective = 3;
  return run;
}

double replicasLengthOf(const RecordedSchedule& recorded) {
  return units(recorded.run().end - recorded.run().start);
}

std::set<std::int64_t> devicesOf(const RecordedSchedule& recorded) {
  std::set<std::int64_t> devices;
  for (const model::Placement& p : recorded.placements) devices.insert(p.device.value);
  return devices;
}

TEST(Replicas, EqualOnesAreRecordedOnce) {
  // Four stages and G = 8 take 33 units (execution semantics §2.4). Then, device after device, the sum of
  // gradients takes three and the update one.
  const RecordedSchedule serial = record(replicated("popart", 4));
  EXPECT_DOUBLE_EQ(replicasLengthOf(serial), 33 + 4 * (3 + 1));
  EXPECT_EQ(devicesOf(serial), (std::set<std::int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(serial.catalog->executables.front().replicas, 4);
  EXPECT_EQ(serial.catalog->target.devicesUsed, 16);
  int collectives = 0;
  for (const model::Placement& p : serial.placements) {
    EXPECT_EQ(p.replica, 0);
    collectives += p.pass == model::Pass::collective ? 1 : 0;
  }
  EXPECT_EQ(collectives, 4);
  for (const model::Wait& wait : serial.waits) EXPECT_NE(wait.cause, model::WaitCause::collective);
  // Each device continues by itself, and the first one ends last.
  EXPECT_DOUBLE_EQ(replicasLengthOf(record(replicated("1f1b", 4))), 33 + 3 + 1);
  EXPECT_DOUBLE_EQ(replicasLengthOf(record(replicated("1f1b", 1))), 33 + 1)
      << "one replica has nobody to sum with";
}

TEST(Replicas, AllAreRecordedWhereWanted) {
  compile::FixedRun run = replicated("popart", 3);
  run.recordAllReplicas = true;
  const RecordedSchedule all = record(run);
  EXPECT_DOUBLE_EQ(replicasLengthOf(all), 33 + 4 * (3 + 1));
  EXPECT_EQ(devicesOf(all).size(), 12u);
  std::map<std::int32_t, std::vector<std::tuple<std::int64_t, std::int64_t, std::int32_t>>> byReplica;
  for (const model::Placement& p : all.placements) {
    EXPECT_EQ(p.device.value / 4, p.replica);
    byReplica[p.replica].emplace_back(p.start.count, p.device.value % 4, p.microBatch);
  }
  ASSERT_EQ(byReplica.size(), 3u);
  EXPECT_EQ(byReplica[1], byReplica[0]);
  EXPECT_EQ(byReplica[2], byReplica[0]);
}

TEST(Replicas, WaitForTheSlowestAndSayForWhom) {
  for (const char* schedule : {"popart", "1f1b", "gpipe"}) {
    SCOPED_TRACE(schedule);
    // Device 6, which is stage 2 of the second replica, runs at half speed.
    compile::FixedRun run = replicated(schedule, 3);
    run.scales = {{6, 0.5, 1}};
    const RecordedSchedule slow = record(run);
    compile::FixedRun alone = fixedRun(schedule, 8, {1, 1, 2, 1}, {2, 2, 4, 2});
    const double flush = computeSpan(record(alone));
    EXPECT_GT(flush, 33);
    const bool serial = std::string(schedule) == "popart";
    if (serial) {
      // Device after device. The update of the slow device takes two.
      EXPECT_DOUBLE_EQ(replicasLengthOf(slow), flush + 4 * 3 + 3 + 2);
    } else {
      EXPECT_DOUBLE_EQ(replicasLengthOf(slow), flush + 3 + 1);
    }
    EXPECT_EQ(devicesOf(slow), (std::set<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7})) << "one of each speed";
    int waits = 0;
    for (const model::Wait& wait : slow.waits) {
      if (wait.cause != model::WaitCause::collective) continue;
      ++waits;
      EXPECT_LT(wait.device.value, 4);
      EXPECT_EQ(wait.waitedForDevice.value, wait.device.value + 4);
      const model::Placement& late = slow.placements[static_cast<std::size_t>(wait.waitedFor.value)];
      EXPECT_EQ(late.replica, 1);
      EXPECT_LE(late.end, wait.end);
    }
    EXPECT_EQ(waits, serial ? 2 : 4) << "serial: the first sum, and the one after the slow update";
  }
}

TEST(Replicas, ASlowLinkSlowsTransfersAndTheSum) {
  compile::FixedRun run = replicated("1f1b", 2);
  run.exchange = 1;
  run.scales = {{7, 1, 0.5}};
  const RecordedSchedule slow = record(run);
  for (const model::Placement& p : slow.placements) {
    if (p.pass != model::Pass::collective) continue;
    EXPECT_DOUBLE_EQ(units(p.end - p.start), p.device.value % 4 == 3 ? 6 : 3) << p.device.value;
  }
  std::map<std::pair<std::int64_t, std::int64_t>, double> ticks;
  const auto owner = [&](model::LaneId lane) { return slow.catalog->lanes[lane].device.value; };
  for (const model::Transfer& t : slow.transfers)
    ticks[{owner(t.fromLane), owner(t.toLane)}] = units(t.end - t.start);
  EXPECT_DOUBLE_EQ((ticks[{2, 3}]), 1);
  EXPECT_DOUBLE_EQ((ticks[{6, 7}]), 2);
  EXPECT_DOUBLE_EQ((ticks[{7, 6}]), 2);
  EXPECT_DOUBLE_EQ((ticks[{5, 6}]), 1);
}

TEST(Replicas, DevicesAreExplainedWithoutGapAndThePathAddsUp) {
  for (const char* schedule : {"popart", "1f1b", "zb-h1", "sharded"}) {
    SCOPED_TRACE(schedule);
    compile::FixedRun run = replicated(schedule, 2);
    run.scales = {{5, 0.7, 1}};
    run.deviceIterations = 2;
    const RecordedSchedule slow = record(run);
    std::map<std::int64_t, std::vector<std::pair<std::int64_t, std::int64_t>>> spans;
    for (const model::Placement& p : slow.placements)
      spans[p.device.value].emplace_back(p.start.count, p.end.count);
    for (const model::Wait& w : slow.waits) spans[w.device.value].emplace_back(w.start.count, w.end.count);
    ASSERT_EQ(spans.size(), 8u);
    for (auto& [device, list] : spans) {
      std::sort(list.begin(), list.end());
      std::int64_t reached = slow.run().start.count;
      for (const auto& [start, end] : list) {
        EXPECT_EQ(start, reached) << "device " << device;
        reached = end;
      }
      EXPECT_EQ(reached, slow.run().end.count) << "device " << device;
    }
    const auto path = analysis::criticalPath(*slow.file, *slow.catalog, slow.run().id);
    ASSERT_TRUE(path.ok()) << path.error().message;
    std::int64_t sum = 0;
    for (const analysis::CriticalLink& link : *path) sum += (link.end - link.start).count;
    EXPECT_EQ(sum, (slow.run().end - slow.run().start).count);
  }
}

TEST(Replicas, StageFiguresAreOfTheFirst) {
  compile::FixedRun run = replicated("popart", 2);
  run.scales = {{6, 0.5, 1}};
  const RecordedSchedule slow = record(run);
  const auto report = analysis::stagesReport(*slow.file, *slow.catalog, slow.executable);
  ASSERT_TRUE(report.ok()) << report.error().message;
  for (const analysis::StageReport& stage : report->stages) {
    EXPECT_DOUBLE_EQ(stage.forward, 1e6);
    EXPECT_DOUBLE_EQ(stage.backward, 2e6);
  }
  EXPECT_EQ(report->imbalance, 1);
  double share = 0;
  for (const analysis::StageOperation& operation : report->limiting()->operations) share += operation.share;
  EXPECT_DOUBLE_EQ(share, 1);
}

}  // namespace
}  // namespace pipescope::tests
