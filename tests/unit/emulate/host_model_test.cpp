// Tests the work of the host besides the devices: its own work for each step, and the preparation of samples.
#include <gtest/gtest.h>

#include "bus_system.h"
#include "engine/emulate/peak_check.h"

namespace pipescope::tests {
namespace {

using emulate::HostModel;

TEST(HostModel, WorksForEachStepAndSample) {
  // 45 ms for a step and 1 ms for a sample; a process without loader workers also prepares them, at 2 ms
  // each.
  const HostModel host{.secondsPerStep = 0.045, .secondsPerSample = 0.001, .secondsPerLoad = 0.002};
  EXPECT_DOUBLE_EQ(host.stepSeconds(32, 8), 0.045 + 32 * 0.003);
  EXPECT_EQ(host.samplesPerSecond(8), 0);
  HostModel workers = host;
  workers.loaderWorkers = 4;
  EXPECT_DOUBLE_EQ(workers.stepSeconds(32, 8), 0.045 + 32 * 0.001);
  EXPECT_DOUBLE_EQ(workers.samplesPerSecond(8), 4 / 0.002);
  EXPECT_EQ(HostModel().stepSeconds(32, 8), 0);
}

TEST(HostModel, ProcessesShareCores) {
  // Eight processes with four workers each are 40, so each runs at half speed on 20 cores.
  HostModel host{.secondsPerStep = 0.01, .secondsPerLoad = 0.002, .loaderWorkers = 4, .cores = 20};
  EXPECT_DOUBLE_EQ(host.stepSeconds(1, 8), 0.02);
  EXPECT_DOUBLE_EQ(host.samplesPerSecond(8), 4 / 0.004);
  // Four of the eight are on another host.
  host.processes = 4;
  EXPECT_DOUBLE_EQ(host.stepSeconds(1, 8), 0.01);
  // Processes without work of their own wait for their workers: on four cores, eight workers run at half
  // speed.
  const HostModel idle{.secondsPerLoad = 0.002, .loaderWorkers = 1, .cores = 4};
  EXPECT_DOUBLE_EQ(idle.samplesPerSecond(8), 250);
  // A given rate is one of all its workers.
  const HostModel rate{.loaderRate = 800, .cores = 4};
  EXPECT_DOUBLE_EQ(rate.samplesPerSecond(8), 400);
  EXPECT_DOUBLE_EQ(rate.samplesPerSecond(4), 800);
}

/// Qwen2-72B has 145.4 GB of weights in 16 bits. Eight processes do not fit into a terabyte, four do.
TEST(HostModel, ProcessesHoldTheWeightsOfTheWholeModel) {
  HostModel host{.memory = base::Bytes(1'000'000'000'000), .weights = base::Bytes(145'400'000'000)};
  EXPECT_EQ(host.processesOfHost(1, 8), 8) << "one for each rank";
  const base::Bytes streams(80'000'000'000);
  EXPECT_EQ(
      host.memoryOverflow(1, 8, {}),
      "Host: its 8 processes read the weights of the whole model, 135.4 GiB each, and the data of a call "
      "takes "
      "0 B: 1.1 TiB together, but host.memory is 931.3 GiB, 152.0 GiB too few. Use fewer processes on a host "
      "(host.processes), or a host with more memory.");
  EXPECT_EQ(host.memoryOverflow(1, 4, {}), "");
  host.processes = 4;
  EXPECT_EQ(host.processesOfHost(2, 8), 4) << "the others are on other hosts";
  EXPECT_EQ(host.memoryOverflow(2, 8, streams), "");
  host.processes = 6;
  EXPECT_EQ(host.memoryOverflow(2, 8, {}), "") << "872.4 GB";
  EXPECT_EQ(host.memoryOverflow(2, 8, base::Bytes(340'000'000'000)), "") << "six sixteenths are 127.5 GB";
  EXPECT_NE(host.memoryOverflow(2, 8, base::Bytes(341'000'000'000)), "");
  host.memory = {};
  host.processes = 0;
  EXPECT_EQ(host.memoryOverflow(64, 8, streams), "") << "nothing is stated, so nothing is judged";
}

TEST(HostModel, TheNetworkBringsNoMoreThanIsPrepared) {
  EXPECT_DOUBLE_EQ((HostModel{.networkRate = 300}.samplesPerSecond(2)), 300);
  EXPECT_DOUBLE_EQ((HostModel{.loaderRate = 200, .networkRate = 300}.samplesPerSecond(2)), 200);
  EXPECT_DOUBLE_EQ((HostModel{.loaderRate = 400, .networkRate = 300}.samplesPerSecond(2)), 300);
}

/// The length of the last of three calls with two iterations of 30 ticks each.
std::int64_t callLength(const HostModel& host) {
  const BusSystem system(1, {10}, {20}, [](const devices::Flow&) { return -1; });
  BusRun run;
  emulateOn(system, "gpipe", 1, 1, true, 4, emulate::RecordLevel::stages, run,
            {.iterations = 2, .calls = 3, .host = host});
  return (run.run.end - run.run.start).count;
}

TEST(HostModel, DelaysDevicesThatAreFaster) {
  EXPECT_EQ(callLength({}), 60);
  // Work beside the devices counts only as far as it is longer than a step; behind a step all of it does.
  EXPECT_EQ(callLength({.secondsPerStep = 25}), 60);
  EXPECT_EQ(callLength({.secondsPerStep = 45}), 90);
  EXPECT_EQ(callLength({.secondsPerStep = 25, .readsResults = true}), 2 * (30 + 25));
  EXPECT_EQ(callLength({.secondsPerStep = 45, .readsResults = true}), 2 * (30 + 45));
}

TEST(HostModel, ItsWaitsAreRecorded) {
  const BusSystem system(1, {10}, {20}, [](const devices::Flow&) { return -1; });
  BusRun run;
  emulateOn(system, "gpipe", 1, 1, true, 4, emulate::RecordLevel::stages, run,
            {.iterations = 2, .host = {.secondsPerStep = 7, .readsResults = true}});
  std::int64_t waited = 0;
  for (const model::Wait& wait : **run.profile.rows<model::Wait>())
    waited += wait.cause == model::WaitCause::host ? (wait.end - wait.start).count : 0;
  EXPECT_EQ(waited, 14);
}

/// A device on which a product of `least` seconds takes `ticks`, of one second each.
devices::LoweredDevice withProduct(double least, std::int64_t ticks) {
  devices::LoweredStep step;
  step.op = 0;
  step.ticks = Ticks(ticks);
  devices::LoweredOperator op{.name = "layer", .kind = "Gemm", .flops = 1};
  op.leastSeconds = least;
  op.product = true;
  devices::LoweredDevice device;
  device.passes.push_back(
      {0, model::Pass::forward, {op}, {{"forward", model::LaneRole::compute, Ticks(ticks), {step}}}});
  return device;
}

TEST(PeakCheck, NamesWhatIsFasterThanThePeak) {
  const BusSystem system(1, {10}, {20}, [](const devices::Flow&) { return -1; });
  EXPECT_TRUE(emulate::abovePeak(system, {withProduct(10, 10)}).empty());
  const auto sentences = emulate::abovePeak(system, {withProduct(30, 10)});
  ASSERT_EQ(sentences.size(), 2U);
  EXPECT_EQ(
      sentences[0],
      "layer (Gemm) computes at 3 times the peak: its products need 30 s at the peak of their types, but "
      "the device model gives them 10 s.");
  EXPECT_EQ(sentences[1].substr(0, 35), "Device 0 computes at 3 times the pe");
}

/// Devices that are three times as fast as their own peak.
class ImpossibleSystem : public BusSystem {
 public:
  ImpossibleSystem() : BusSystem(1, {10}, {20}, [](const devices::Flow&) { return -1; }) {}
  base::Result<devices::LoweredDevice> lower(const std::vector<const compile::StageIr*>&) const override {
    return withProduct(30, 10);
  }
};

TEST(PeakCheck, IsRecordedAsADiagnostic) {
  BusRun run;
  emulateOn(ImpossibleSystem(), "gpipe", 1, 2, false, 4, emulate::RecordLevel::stages, run);
  EXPECT_EQ(run.executable.abovePeak.size(), 2U);
  const auto diagnostics = run.profile.rows<model::Diagnostic>();
  ASSERT_TRUE(diagnostics.ok());
  ASSERT_EQ((*diagnostics)->size(), 2U);
  EXPECT_EQ((**diagnostics)[0].severity, model::Severity::error);
  EXPECT_EQ((**diagnostics)[0].text, run.executable.abovePeak[0]);
}

}  // namespace
}  // namespace pipescope::tests
