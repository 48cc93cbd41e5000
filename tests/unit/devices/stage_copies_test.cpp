// Copies of a stage on an IPU: from the host, to streaming memory, and over tiles for input and output.
#include <gmock/gmock.h>

#include "lowered_device.h"

namespace pipescope::devices {
namespace {

using base::Bytes;
using compile::StageIr;
using compile::TensorUse;
using model::Pass;
using testing::expectDeviceSound;
using testing::expectMemorySound;
using testing::find;
using ::testing::HasSubstr;
using testing::lowerStages;
using testing::map;
using testing::StageMaker;
using testing::systemOf;

/// A tensor of `bytes` that comes from the host and goes to streaming memory in the update.
StageIr copyingStage(std::int64_t bytes, int device, const compile::Mesh& mesh) {
  StageMaker make(device, device);
  const auto x = make.tensor("x", {bytes / 4}, TensorUse::input),
             w = make.tensor("w", {bytes / 4}, TensorUse::weight);
  make.add(Pass::hostIn, "x", "HostLoad", {{ops::HostCopy{true, Bytes(bytes)}, 1, ""}}, {}, {x});
  make.add(Pass::forward, "load", "RemoteLoad", {{ops::HostCopy{true, Bytes(bytes), true}, 1, ""}}, {}, {w});
  make.add(Pass::update, "store", "RemoteStore", {{ops::HostCopy{false, Bytes(bytes), true}, 1, ""}}, {w},
           {});
  StageIr stage = make.stage();
  stage.mesh = mesh;
  return stage;
}

/// Bytes per second of the middle program of a pass's copies.
double rateOf(const System& system, const StageIr& stage, Pass pass, std::int64_t bytes) {
  for (const LoweredPass& lowered : lowerStages(system, {stage}).passes) {
    for (const LoweredSegment& segment : lowered.segments) {
      for (const LoweredStep& step : segment.steps) {
        if (lowered.pass == pass && step.program == "StreamCopyMid") {
          return static_cast<double>(bytes) * static_cast<double>(system.devices()[0].ticksPerSecond) /
                 static_cast<double>(step.ticks.count);
        }
      }
    }
  }
  ADD_FAILURE() << "no copy";
  return 0;
}

TEST(StageCopies, ChipsOfAMachineShareItsStreamingMemory) {
  constexpr std::int64_t bytes = 64'000'000;
  SystemOptions oneAtATime;
  oneAtATime.oneAtATime = true;
  const auto pod = systemOf("pod16"), turns = systemOf("pod16", oneAtATime);
  // The figures of an M2000: 8 GB/s for a chip and 22.5 GB/s for a machine of four. What the host sends lies
  // in the gateway before a chip copies it at 8 GB/s.
  const auto expectRates = [&](const System& system, compile::Mesh mesh, int device, double host,
                               double flush, double update) {
    const StageIr stage = copyingStage(bytes, device, mesh);
    EXPECT_NEAR(rateOf(system, stage, Pass::hostIn, bytes) / host, 1, 1e-3);
    EXPECT_NEAR(rateOf(system, stage, Pass::forward, bytes) / flush, 1, 1e-3);
    EXPECT_NEAR(rateOf(system, stage, Pass::update, bytes) / update, 1, 1e-3);
  };
  expectRates(*pod, {1, 1}, 0, 8e9, 8e9, 8e9);
  expectRates(*pod, {1, 2}, 0, 8e9, 8e9, 8e9);         // two of four chips: no more than the machine has
  expectRates(*pod, {1, 4}, 3, 8e9, 22.5e9 / 4, 8e9);  // updates run one after another
  expectRates(*pod, {.replicas = 1, .places = 4, .atOnce = true}, 3, 8e9, 22.5e9 / 4,
              22.5e9 / 4);  // all updates run at once
  expectRates(*turns, {1, 4}, 3, 8e9, 8e9, 8e9);
  expectRates(*pod, {16, 1}, 0, 8e9, 22.5e9 / 4, 22.5e9 / 4);
  expectRates(*turns, {8, 2}, 1, 8e9, 8e9, 8e9);
  expectRates(*pod, {3, 1}, 0, 8e9, 22.5e9 / 3, 22.5e9 / 3);
}

/// Seconds of the exchanges of an all-reduce of `bytes` on the device.
double allReduceSeconds(const System& system, std::int64_t bytes, int device, const compile::Mesh& mesh) {
  StageMaker make(device, device);
  const auto sum = make.tensor("sum", {bytes / 4}, TensorUse::accumulator);
  make.add(
      Pass::collective, "sum", "AllReduce",
      {{ops::Collective{ops::Collective::Kind::allReduce, bytes / 4, graph::ElementType::float32}, 1, ""}},
      {sum}, {sum});
  StageIr stage = make.stage();
  stage.mesh = mesh;
  double seconds = 0;
  for (const LoweredPass& lowered : lowerStages(system, {stage}).passes) {
    for (const LoweredSegment& segment : lowered.segments) {
      for (const LoweredStep& step : segment.steps) {
        if (step.program == "GlobalExchange")
          seconds += static_cast<double>(step.maxTicks.count) /
                     static_cast<double>(system.devices()[0].ticksPerSecond);
      }
    }
  }
  return seconds;
}

TEST(StageCopies, PlacesWithFewerGradientsLeaveLinksToOthers) {
  constexpr std::int64_t bytes = 64'000'000;
  const auto pod = systemOf("pod16");
  // Two replicas of eight: places 0, 2, 4 and 6 send up and down one side of the ladder, with two lanes of
  // 14.6 GB/s each way. An all-reduce is two exchanges of half the tensor.
  const double alone = 2 * (bytes / 2 / (2 * 137438953472.0 / 8 * 0.85)), startup = 2 * 1.3e-6;
  const auto seconds = [&](int device, const std::vector<std::int64_t>& ringBytes) {
    return allReduceSeconds(*pod, bytes, device,
                            {.replicas = 2, .places = 8, .atOnce = true, .ringBytes = ringBytes});
  };
  EXPECT_NEAR(seconds(0, {}), 4 * alone + startup, 1e-6);
  EXPECT_NEAR(seconds(0, {8, 8, 8, 8, 8, 8, 8, 8}), 4 * alone + startup, 1e-6);
  EXPECT_NEAR(seconds(0, {8, 8, 4, 8, 2, 8, 0, 8}), 4 * alone + startup, 1e-6) << "the other side is full";
  EXPECT_NEAR(seconds(0, {8, 1, 4, 1, 2, 1, 0, 1}), 1.75 * alone + startup, 1e-6);
  EXPECT_NEAR(seconds(4, {8, 1, 4, 1, 2, 1, 0, 1}), 3 * alone + startup, 1e-6) << "two send at least as much";
  // Devices that reduce one after another have the links to themselves.
  EXPECT_NEAR(allReduceSeconds(*pod, bytes, 0, {.replicas = 2, .places = 8}), alone + startup, 1e-6);
}

TEST(StageCopies, InputOutputTilesHoldWhatComesAndGoes) {
  SystemOptions options;
  options.settings = {{"io_tiles", 32.0}};
  const auto plain = systemOf("mk2"), with = systemOf("mk2", options);
  constexpr std::int64_t bytes = 3'200'000;
  StageMaker make(0, 0);
  const auto x = make.tensor("x", {bytes / 4}, TensorUse::input),
             y = make.tensor("y", {bytes / 4}, TensorUse::activation);
  make.add(Pass::hostIn, "x", "HostLoad", {{ops::HostCopy{true, Bytes(bytes)}, 1, ""}}, {}, {x});
  make.add(Pass::forward, "relu", "Relu", {map(ops::MapFunction::relu, bytes / 4)}, {x}, {y});
  make.add(Pass::hostOut, "y/out", "HostStore", {{ops::HostCopy{false, Bytes(bytes / 2)}, 1, ""}}, {y}, {});
  const StageIr stage = make.stage();
  const LoweredDevice a = lowerStages(*plain, {stage}), b = lowerStages(*with, {stage});
  expectDeviceSound(*with, b);
  expectMemorySound(b.memory[0], with->devices()[0].memory[0]);
  EXPECT_EQ(find(a.memory[0], "x", "stream_buffer"), nullptr);
  const LoweredVariable* buffer = find(b.memory[0], "x", "stream_buffer");
  ASSERT_NE(buffer, nullptr);
  EXPECT_EQ(buffer->bytes.count, bytes);
  EXPECT_EQ(buffer->maxUnitBytes.count, bytes / 32);
  ASSERT_FALSE(buffer->units.empty());
  EXPECT_EQ(buffer->units.front().first, 1440);
  ASSERT_NE(find(b.memory[0], "y/out", "stream_buffer"), nullptr);
  // These tiles hold only what host copies and every program need, and compute nothing.
  for (const LoweredVariable& variable : b.memory[0].variables) {
    for (const UnitBytes& run : variable.units) {
      if (run.first + run.count <= 1440) continue;
      EXPECT_TRUE(variable.category == "stream_buffer" || variable.category == "stack" ||
                  variable.category.starts_with("hostExchange") ||
                  variable.category == "internalExchangeCode")
          << variable.name << ' ' << variable.category;
    }
  }
  for (const LoweredPass& pass : b.passes) {
    for (const LoweredStep& step : pass.segments[0].steps) {
      if (step.kind == model::StepKind::sync) continue;
      for (const LoweredUnitTicks& run : step.units)
        EXPECT_EQ(run.first >= 1440, pass.pass != Pass::forward) << step.name;
    }
  }
  // The data goes on at 4 bytes a cycle and tile: 100,000 bytes on each of 32 tiles.
  const LoweredStep& on = b.passes[0].segments[0].steps.back();
  EXPECT_THAT(on.name, HasSubstr("FromIoTiles"));
  EXPECT_NEAR(static_cast<double>(on.ticks.count), 100'000 / 4, 200);
  // Buffers that do not fit there are reported.
  StageMaker large(0, 0);
  const auto z = large.tensor("z", {bytes * 2}, TensorUse::input);
  large.add(Pass::hostIn, "z", "HostLoad", {{ops::HostCopy{true, Bytes(bytes * 8)}, 1, ""}}, {}, {z});
  const LoweredDevice over = lowerStages(*with, {large.stage()});
  ASSERT_EQ(over.memory[0].overflow.size(), 1u);
  EXPECT_THAT(over.memory[0].overflow.front(), HasSubstr("tiles 1440–1471"));
  EXPECT_THAT(over.memory[0].overflow.front(), HasSubstr("It holds buffers for input and output 781.2 KiB"));
}

}  // namespace
}  // namespace pipescope::devices
