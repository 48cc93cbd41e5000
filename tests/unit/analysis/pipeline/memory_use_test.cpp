// Use of the memory's bandwidth, and axes of waits, computed by hand.
#include "profiler/analysis/pipeline/memory_use.h"

#include <gtest/gtest.h>

#include "profiler/analysis/model/flop_use.h"
#include "profiler/analysis/pipeline/even_costs.h"
#include "profiler/analysis/pipeline/wait_axes.h"
#include "profiler/record/memory_profile.h"

namespace pipescope::analysis {
namespace {

std::shared_ptr<const Catalog> catalogWith(const std::vector<model::Property>& properties) {
  record::MemoryProfile profile;
  model::RowSet rows;
  rows.of<model::Property>() = properties;
  rows.of<model::Executable>().emplace_back().id = model::ExecutableId(0);
  EXPECT_TRUE(profile.commit(rows).ok());
  return loadCatalog(profile).value();
}

DeviceExecution deviceOf(std::int64_t clockHz, std::int64_t total, std::int64_t computing,
                         std::int64_t bytes) {
  DeviceExecution device;
  device.holdsStage = true;
  device.clockHz = clockHz;
  device.total = Ticks(total);
  device.byKind[kindIndex(model::StepKind::compute)] = computing;
  device.computeBytes = Bytes(bytes);
  return device;
}

/// Two devices for 10 and 20 seconds, of which they compute 5 and 1, with 300 bytes each.
Execution twoDevices() {
  Execution execution;
  execution.devices = {deviceOf(100, 1000, 500, 300), deviceOf(1000, 20'000, 1000, 300)};
  execution.devices.push_back(deviceOf(1000, 90'000, 90'000, 90'000));
  execution.devices.back().holdsStage = false;
  return execution;
}

TEST(MemoryUse, IsBytesOverWhatThePeakCouldMove) {
  const auto catalog = catalogWith({{"figure.hbm_bandwidth", "100 B/s"}, {"figure.hbm_effective", "50 B/s"}});
  FlopUse flops;
  const MemoryUse use = memoryUse(*catalog, twoDevices(), flops);
  ASSERT_TRUE(use.share.has_value());
  EXPECT_DOUBLE_EQ(*use.share, 600.0 / 100 / 30);
  EXPECT_TRUE(use.holdsUp) << "12 seconds of moving against 6 of computing";
  // 12 seconds of moving against those of the FLOP, with recompute.
  flops.peakPerDevice = 10;
  flops.modelFlops = 100;
  flops.recomputeFlops = 10;
  EXPECT_TRUE(memoryUse(*catalog, twoDevices(), flops).holdsUp);
  flops.recomputeFlops = 20;
  EXPECT_FALSE(memoryUse(*catalog, twoDevices(), flops).holdsUp);
}

TEST(MemoryUse, HoldsUpWhatComputesLessThanTwiceAsLong) {
  const auto catalog = catalogWith({{"figure.hbm_bandwidth", "100 B/s"}});
  Execution execution;
  execution.devices = {deviceOf(1, 100, 12, 600)};  // 6 seconds of moving
  EXPECT_FALSE(memoryUse(*catalog, execution, {}).holdsUp);
  execution.devices = {deviceOf(1, 100, 11, 600)};
  EXPECT_TRUE(memoryUse(*catalog, execution, {}).holdsUp);
}

TEST(MemoryUse, IsUnknownWithoutBandwidthBytesOrTime) {
  EXPECT_FALSE(memoryUse(*catalogWith({}), twoDevices(), {}).share);
  const auto catalog = catalogWith({{"figure.hbm_bandwidth", "100 B/s"}});
  Execution execution;
  EXPECT_FALSE(memoryUse(*catalog, execution, {}).share);
  execution.devices = {deviceOf(1, 100, 12, 0)};
  EXPECT_FALSE(memoryUse(*catalog, execution, {}).share);
  execution.devices = {deviceOf(0, 100, 12, 7)};
  EXPECT_FALSE(memoryUse(*catalog, execution, {}).share);
}

model::Placement passOf(int device, model::Pass pass, int stage, int microBatch, std::int64_t start) {
  model::Placement row;
  row.device = model::DeviceId(device);
  row.pass = pass;
  row.stage = stage;
  row.microBatch = microBatch;
  row.start = Ticks(start);
  row.end = Ticks(start + 1);
  row.id = model::PlacementId(start);
  return row;
}

TEST(EvenCostsTest, WeightGradientsOfTheirOwnCountToo) {
  std::vector<model::Placement> iteration;
  for (int m = 0; m < 2; ++m) {
    iteration.push_back(passOf(0, model::Pass::forward, 0, m, 3 * m));
    iteration.push_back(passOf(0, model::Pass::backward, 0, m, 3 * m + 1));
    iteration.push_back(passOf(0, model::Pass::weightGradient, 0, m, 3 * m + 2));
  }
  const EvenCosts costs(iteration, 1, model::ScheduleKind::dependency, 1);
  EXPECT_DOUBLE_EQ(costs.makespan({{2.5, 3.5, 100}}), 212);
}

TEST(EvenCostsTest, PassesOfTwoStagesFollowEachOther) {
  // D0: F0 F1 B0 B1; D1: F0 B0 F1 B1. Forward takes 1 and backward 2.
  std::vector<model::Placement> iteration = {
      passOf(0, model::Pass::forward, 0, 0, 0),  passOf(0, model::Pass::forward, 0, 1, 1),
      passOf(1, model::Pass::forward, 1, 0, 2),  passOf(1, model::Pass::backward, 1, 0, 3),
      passOf(1, model::Pass::forward, 1, 1, 4),  passOf(0, model::Pass::backward, 0, 0, 5),
      passOf(1, model::Pass::backward, 1, 1, 6), passOf(0, model::Pass::backward, 0, 1, 7)};
  const EvenCosts costs(iteration, 2, model::ScheduleKind::dependency, 1);
  // D1 works from 1 to 7, and D0 ends with the last backward pass after that.
  EXPECT_DOUBLE_EQ(costs.makespan({{1, 2}, {1, 2}}), 9);
  EXPECT_DOUBLE_EQ(costs.makespan({{1, 2}, {2, 4}}), 15);
}

TEST(WaitAxes, SharedLinksAreOfTheAwaitedSegment) {
  const auto catalog = catalogWith({{"replay.0.shared_links", "5:2 7:4 8:9 9:-1"}});
  const WaitAxes axes(*catalog, model::ExecutableId(0));
  model::Wait wait;
  wait.device = model::DeviceId(1);
  wait.cause = model::WaitCause::collective;
  const auto of = [&](int device, int stage, model::Pass pass, int segment) {
    const AwaitedPlacement awaited{model::DeviceId(device), stage, pass, model::SegmentId(segment)};
    return axes.of(wait, &awaited, [](int held) { return held == 3; });
  };
  using model::MeshAxis;
  EXPECT_EQ(of(1, 3, model::Pass::backward, 5), MeshAxis::tensor);
  EXPECT_EQ(of(1, 3, model::Pass::forward, 7), MeshAxis::expert);
  EXPECT_EQ(of(1, 3, model::Pass::forward, 6), std::nullopt) << "not listed";
  EXPECT_EQ(of(1, 3, model::Pass::forward, 8), std::nullopt) << "there is no such axis";
  EXPECT_EQ(of(1, 3, model::Pass::forward, 9), std::nullopt);
  // Another device: replicas add the gradients of a stage that this one holds, too; places those of shared
  // weights.
  EXPECT_EQ(of(2, 3, model::Pass::backward, 5), MeshAxis::data);
  EXPECT_EQ(of(2, 0, model::Pass::backward, 5), MeshAxis::pipe);
  EXPECT_EQ(of(2, -1, model::Pass::backward, 5), MeshAxis::data);
  EXPECT_EQ(of(1, 0, model::Pass::update, 5), MeshAxis::pipe) << "no pass that computes a stage";
  EXPECT_EQ(axes.of(wait, nullptr, [](int) { return false; }), MeshAxis::data);
  wait.cause = model::WaitCause::fill;
  EXPECT_EQ(of(1, 3, model::Pass::backward, 5), std::nullopt);
}

}  // namespace
}  // namespace pipescope::analysis
