// Whole stages on an IPU: segments, liveness and memory.
#include <gmock/gmock.h>

#include <map>
#include <set>

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
using testing::linearStage;
using testing::lowerStages;
using testing::map;
using testing::StageMaker;
using testing::stepOf;
using testing::systemOf;

TEST(StageLowering, LinearStageIsSound) {
  const auto system = systemOf("pod4");
  for (const auto type : {graph::ElementType::float32, graph::ElementType::float16}) {
    const LoweredDevice device = lowerStages(*system, {linearStage(1, 2, 40, 320, 256, true, type)});
    EXPECT_EQ(device.device, 2);
    expectDeviceSound(*system, device);
    ASSERT_EQ(device.memory.size(), 1u);
    expectMemorySound(device.memory[0], system->devices()[2].memory[0]);
    EXPECT_TRUE(device.memory[0].overflow.empty());
    std::vector<Pass> passes;
    for (const LoweredPass& pass : device.passes) passes.push_back(pass.pass);
    EXPECT_THAT(passes, ::testing::ElementsAre(Pass::hostIn, Pass::forward, Pass::backward, Pass::update));
  }
}

TEST(StageLowering, ProductsOfOneUnitHaveThePeakOfHalfSums) {
  // 16 terms fit into a unit of the AMP, which then writes float16 at twice the rate of float32 sums. Mk2 has
  // 1,472 tiles at 1.33 GHz, with 64 and 32 multiply-adds a cycle.
  const auto system = systemOf("mk2");
  for (const std::int64_t terms : {16, 17}) {
    StageMaker make(0, 0);
    const auto w = make.tensor("w", {1}, TensorUse::activation);
    const ops::Contraction work = testing::product(128256, terms, 240);
    make.add(Pass::forward, "head", "MatMul", {{work, 1, ""}}, {}, {w});
    const LoweredDevice device = lowerStages(*system, {make.stage()});
    const LoweredPass& pass = device.passes.front();
    const double flops = 2.0 * 128256.0 * static_cast<double>(terms) * 240.0;
    EXPECT_NEAR(pass.operators[0].leastSeconds * (terms == 16 ? 2 : 1) / (flops / (2.0 * 32 * 1472 * 1.33e9)),
                1, 1e-9);
    EXPECT_LE(pass.operators[0].leastSeconds, static_cast<double>(pass.ticks().count) / 1.33e9) << terms;
  }
}

TEST(StageLowering, PassesComeInProgramOrder) {
  const auto system = systemOf("pod4");
  const LoweredDevice device =
      lowerStages(*system, {linearStage(0, 0, 8, 16, 16, true), linearStage(2, 0, 8, 16, 16, false)});
  std::vector<std::pair<int, Pass>> order;
  for (const LoweredPass& pass : device.passes) order.emplace_back(pass.stage, pass.pass);
  using P = std::pair<int, Pass>;
  EXPECT_EQ(order, (std::vector<P>{{0, Pass::hostIn},
                                   {0, Pass::forward},
                                   {2, Pass::forward},
                                   {2, Pass::backward},
                                   {0, Pass::backward},
                                   {0, Pass::update},
                                   {2, Pass::update}}));
  expectDeviceSound(*system, device);
  expectMemorySound(device.memory[0], system->devices()[0].memory[0]);
}

TEST(StageLowering, StepsCarryNamesProgramsAndSyncs) {
  const auto system = systemOf("mk2");
  const LoweredDevice device = lowerStages(*system, {linearStage(0, 0, 40, 320, 256, true)});
  const LoweredPass& forward = device.passes[1];
  ASSERT_EQ(forward.operators.size(), 2u);
  EXPECT_EQ(forward.operators[0].name, "fc");
  EXPECT_DOUBLE_EQ(forward.operators[0].flops, 2.0 * 40 * 320 * 256);
  EXPECT_EQ(forward.operators[0].bytes.count, 4 * (40 * 320 + 320 * 256 + 40 * 256));
  ASSERT_EQ(forward.segments.size(), 1u);
  EXPECT_EQ(forward.segments[0].name, "stage0/forward");
  bool convolve = false;
  std::string before;
  for (const LoweredStep& step : forward.segments[0].steps) {
    if (step.name == "fc/Convolve") {
      convolve = true;
      EXPECT_EQ(step.program, "OnTileExecute");
      EXPECT_EQ(step.lane, model::LaneRole::compute);
      EXPECT_EQ(before, "fc/Sync");
    }
    if (step.program == "DoExchange") {
      EXPECT_EQ(step.lane, model::LaneRole::exchange);
      EXPECT_GT(step.bytesOut.count, 0);
      EXPECT_GE(step.bytesIn, step.bytesOut);
    }
    before = step.name;
  }
  EXPECT_TRUE(convolve);
  // The host's copies lie on the host lane.
  EXPECT_EQ(device.passes[0].segments[0].lane, model::LaneRole::host);
  EXPECT_EQ(device.passes[0].segments[0].steps[1].program, "StreamCopyMid");
}

TEST(StageLowering, RepeatsTakeSoManyTimesAsLong) {
  const auto system = systemOf("mk2");
  const auto ticksOf = [&](std::int64_t repeat) {
    StageMaker make(0, 0);
    const auto a = make.tensor("a", {1000}, TensorUse::input);
    const auto b = make.tensor("b", {1000}, TensorUse::activation);
    ops::Work work = map(ops::MapFunction::relu, 1000);
    work.repeat = repeat;
    make.add(Pass::forward, "op", "Relu", {work}, {a}, {b});
    const StageIr stage = make.stage();
    const auto lowered = system->lower({&stage});
    return lowered.ok() ? lowered->passes[0].ticks().count : -1;
  };
  EXPECT_EQ(ticksOf(7), 7 * ticksOf(1));
  EXPECT_EQ(ticksOf(0), -1);
}

/// The sums of a product lie in memory of their own until the last step adds them into the result.
TEST(StageLowering, ResultsNeedMemoryOnlyFromTheStepThatWritesThem) {
  const auto system = systemOf("mk2");
  const LoweredDevice device = lowerStages(*system, {linearStage(0, 0, 40, 320, 256, true)});
  const LoweredMemory& memory = device.memory[0];
  const auto step = [&](const std::string& name) {
    const auto found = std::find_if(memory.steps.begin(), memory.steps.end(),
                                    [&](const LoweredStepMemory& one) { return one.name == name; });
    EXPECT_NE(found, memory.steps.end()) << name;
    return static_cast<std::int32_t>(found - memory.steps.begin());
  };
  const auto variable = [&](const std::string& name) {
    return *std::find_if(memory.variables.begin(), memory.variables.end(),
                         [&](const LoweredVariable& one) { return one.name == name; });
  };
  ASSERT_FALSE(variable("fc/z").lives.empty());
  EXPECT_EQ(variable("fc/z").lives.front().first, step("fc/Reduce"));
  EXPECT_EQ(variable("fc/Partials0").lives.front().first, step("fc/Convolve"));
  EXPECT_EQ(variable("fc/Inputs").lives.front().end, step("fc/Convolve") + 1);
}

TEST(StageLowering, RepeatedWeightGradientsArePutInOrderOnce) {
  const auto system = systemOf("mk2");
  const auto ticksOf = [&](std::int64_t repeat, const std::string& step) {
    StageMaker make(0, 0);
    // A product that is planned as it is written, whether it is repeated or not.
    const auto x = make.tensor("x", {1024, 1024}, TensorUse::input),
               w = make.tensor("w", {1024, 16}, TensorUse::gradient);
    const ops::Contraction update = testing::phase(testing::product(1024, 1024, 16), 2);
    make.add(Pass::backward, "wu", "MatMul", {{update, repeat, ""}}, {x}, {w});
    std::int64_t ticks = 0;
    const LoweredDevice device = lowerStages(*system, {make.stage()});
    for (const LoweredStep& lowered : device.passes[0].segments[0].steps) {
      if (lowered.name == "wu/" + step) ticks += lowered.ticks.count;
    }
    EXPECT_GT(ticks, 0) << step;
    return ticks;
  };
  EXPECT_EQ(ticksOf(4, "Convolve"), 4 * ticksOf(1, "Convolve"));
  EXPECT_EQ(ticksOf(4, "Output/OnTileCopy"), ticksOf(1, "Output/OnTileCopy"));
}

TEST(StageLowering, LivesFollowUse) {
  const auto system = systemOf("mk2");
  const LoweredDevice device = lowerStages(*system, {linearStage(0, 0, 40, 320, 256, true)});
  const LoweredMemory& memory = device.memory[0];
  const auto end = static_cast<std::int32_t>(memory.steps.size());
  const auto only = [&](const char* name) {
    const LoweredVariable* variable = find(memory, name);
    EXPECT_NE(variable, nullptr) << name;
    EXPECT_EQ(variable->lives.size(), 1u) << name;
    return variable->lives.at(0);
  };
  const std::int32_t relu = stepOf(memory, "relu/Relu", Pass::forward),
                     back = stepOf(memory, "relu/Relu_gradient", Pass::backward);
  // Live from the host copy to the weight's gradient.
  EXPECT_EQ(only("x").first, 0);
  EXPECT_GT(only("x").end, back);
  // The product makes it, and the relu takes it over in place.
  EXPECT_EQ(only("fc/z").end, relu + 1);
  EXPECT_EQ(only("relu/y").first, relu + 1);
  EXPECT_EQ(only("relu/y").end, back + 1);
  // The next device sends it, so it is live when its pass begins. This one leaves, so it is live until its
  // pass ends.
  EXPECT_EQ(only("relu/dy").first, back);
  EXPECT_EQ(only("x/dx").end, stepOf(memory, "fc/weight/update/Adam", Pass::update));
  EXPECT_LT(only("x/dx").end, end);
  // Weights, moments and sums are always live; so is the code for the arriving gradient.
  for (const char* name : {"fc/weight", "fc/weight/moment", "fc/weight/accumulator"}) {
    EXPECT_TRUE(find(memory, name)->alwaysLive) << name;
    EXPECT_EQ(find(memory, name)->bytes.count, 4 * 320 * 256);
  }
  EXPECT_EQ(find(memory, "fc/weight")->category, "weight");
  EXPECT_EQ(find(memory, "fc/weight")->shape, "320x256 float32");
  EXPECT_NE(find(memory, "relu/dy", "globalExchangeCode"), nullptr);
  EXPECT_NE(find(memory, "x/dx", "globalExchangeCode"), nullptr);
  EXPECT_EQ(find(memory, "x", "globalExchangeCode"), nullptr);
  EXPECT_NE(find(memory, "x/StreamCopyMid", "hostExchangeCode"), nullptr);
}

TEST(StageLowering, RemadeTensorsLiveTwice) {
  const auto system = systemOf("mk2");
  StageMaker make(0, 0);
  const auto x = make.tensor("x", {5000}, TensorUse::input);
  const auto y = make.tensor("y", {5000}, TensorUse::activation);
  const auto z = make.tensor("z", {5000}, TensorUse::activation);
  const auto dz = make.tensor("dz", {5000}, TensorUse::gradient);
  make.add(Pass::forward, "first", "Exp", {map(ops::MapFunction::exp, 5000)}, {x}, {y});
  make.add(Pass::forward, "second", "Exp", {map(ops::MapFunction::exp, 5000)}, {y}, {z});
  make.add(Pass::backward, "first", "Exp", {map(ops::MapFunction::exp, 5000)}, {x}, {y});
  make.add(Pass::backward, "second", "GradExp", {map(ops::MapFunction::multiply, 5000)}, {y}, {dz});
  StageIr stage = make.stage();
  stage.passes.back().operators.front().again = true;
  const LoweredDevice device = lowerStages(*system, {stage});
  expectMemorySound(device.memory[0], system->devices()[0].memory[0]);
  const LoweredVariable* variable = find(device.memory[0], "y");
  ASSERT_EQ(variable->lives.size(), 2u);
  EXPECT_EQ(variable->lives[0].first, 0);
  EXPECT_EQ(variable->lives[0].end, 2);
  EXPECT_EQ(variable->lives[1].first, 2);
  EXPECT_EQ(variable->lives[1].end, 4);
  // Recomputed work is a segment of its own within the backward pass.
  const LoweredPass& backward = device.passes.back();
  ASSERT_EQ(backward.segments.size(), 2u);
  EXPECT_EQ(backward.segments[0].pass, Pass::recompute);
  EXPECT_EQ(backward.segments[0].name, "stage0/recompute");
  EXPECT_EQ(backward.segments[1].pass.value_or(backward.pass), Pass::backward);
  EXPECT_EQ(backward.operators[0].pass, Pass::recompute);
  EXPECT_EQ(backward.operators[1].pass, std::nullopt);
  EXPECT_EQ(device.memory[0].steps[2].pass, Pass::recompute);
}

TEST(StageLowering, ViewsShareMemory) {
  const auto system = systemOf("mk2");
  StageMaker make(0, 0);
  const auto x = make.tensor("x", {40, 100}, TensorUse::input);
  const auto y = make.tensor("y", {40, 100}, TensorUse::activation);
  const auto flat = make.tensor("flat", {4000}, TensorUse::activation);
  const auto z = make.tensor("z", {4000}, TensorUse::activation);
  make.add(Pass::forward, "exp", "Exp", {map(ops::MapFunction::exp, 4000)}, {x}, {y});
  make.add(Pass::forward, "flatten", "Flatten", {}, {y}, {flat});
  make.add(Pass::forward, "log", "Log", {map(ops::MapFunction::log, 4000)}, {flat}, {z});
  const LoweredDevice device = lowerStages(*system, {make.stage()});
  expectMemorySound(device.memory[0], system->devices()[0].memory[0]);
  EXPECT_TRUE(find(device.memory[0], "flat")->lives.empty());
  ASSERT_EQ(find(device.memory[0], "y")->lives.size(), 1u);
  EXPECT_EQ(find(device.memory[0], "y")->lives[0].end, 2);
}

TEST(StageLowering, StashesAreRings) {
  const auto system = systemOf("mk2");
  StageMaker make(0, 0);
  const auto x = make.tensor("x", {1000}, TensorUse::input);
  const auto ring = make.tensor("x/stash", {1000}, TensorUse::stash, graph::ElementType::float32, 7);
  make.add(Pass::forward, "x/stash", "Stash",
           {{ops::Rearrange{1000, 1000, graph::ElementType::float32}, 1, ""}}, {x}, {ring});
  const LoweredDevice device = lowerStages(*system, {make.stage()});
  const LoweredVariable* variable = find(device.memory[0], "x/stash", "stash");
  EXPECT_TRUE(variable->alwaysLive);
  EXPECT_EQ(variable->bytes.count, 7 * 4000);
}

/// popnn brings the product of each step into the order of the state, and leaves the gradients of weights in
/// the order of the product.
TEST(StageLowering, ProductsOfASequencePutTheirResultsInTheOrderOfTheState) {
  const auto system = systemOf("mk2");
  const auto arrangements = [&](std::int64_t repeat, int phase) {
    StageMaker make(0, 0);
    const auto x = make.tensor("x", {16, 1024}, TensorUse::input),
               y = make.tensor("y", {16, 1024}, TensorUse::activation);
    const ops::Contraction product = testing::phase(testing::product(16, 1024, 1024), phase);
    make.add(Pass::forward, "step", "MatMul", {{product, repeat, ""}}, {x}, {y});
    std::int64_t ticks = 0;
    const LoweredDevice device = lowerStages(*system, {make.stage()});
    for (const LoweredStep& step : device.passes[0].segments[0].steps) {
      if (step.name.starts_with("step/Result/")) ticks += step.ticks.count;
    }
    return ticks;
  };
  EXPECT_EQ(arrangements(1, 0), 0);
  EXPECT_GT(arrangements(5, 0), 0);
  EXPECT_EQ(arrangements(10, 0), 2 * arrangements(5, 0));
  EXPECT_GT(arrangements(5, 1), 0);
  EXPECT_EQ(arrangements(5, 2), 0);
}

/// Equal layers share the code of exchanges between temporaries, but not of those that bring weights.
TEST(StageLowering, RepeatedExchangesKeepOnlyTheCodeOfTheirWeights) {
  const auto system = systemOf("mk2");
  const auto codeOf = [&](int layers, bool weights) {
    StageMaker make(0, 0);
    auto at = make.tensor("x", {256, 1024}, TensorUse::input);
    for (int i = 0; i < layers; ++i) {
      const std::string name = "layer" + std::to_string(i);
      const auto w = make.tensor(name + "/w", {1024, 1024}, weights ? TensorUse::weight : TensorUse::input),
                 next = make.tensor(name + "/y", {256, 1024}, TensorUse::activation);
      make.add(Pass::forward, name, "MatMul", {{testing::product(256, 1024, 1024), 1, ""}}, {at, w}, {next});
      at = next;
    }
    std::int64_t bytes = 0;
    const LoweredDevice device = lowerStages(*system, {make.stage()});
    for (const LoweredVariable& variable : device.memory[0].variables)
      bytes += variable.category == "internalExchangeCode" ? variable.bytes.count : 0;
    return bytes;
  };
  const std::int64_t first = codeOf(1, true), second = codeOf(2, true) - first;
  EXPECT_GT(second, 0);
  EXPECT_LT(second, first);
  EXPECT_EQ(codeOf(9, true), first + 8 * second);
  EXPECT_EQ(codeOf(9, false), first);
}

TEST(StageLowering, CodeIsCountedOncePerTileAndType) {
  const auto system = systemOf("mk2");
  const auto codeOf = [&](int layers) {
    StageMaker make(0, 0);
    auto at = make.tensor("x", {1472 * 64}, TensorUse::input);
    for (int i = 0; i < layers; ++i) {
      const auto next = make.tensor("y" + std::to_string(i), {1472 * 64}, TensorUse::activation);
      make.add(Pass::forward, "layer" + std::to_string(i), "Exp", {map(ops::MapFunction::exp, 1472 * 64)},
               {at}, {next});
      at = next;
    }
    const LoweredDevice device = lowerStages(*system, {make.stage()});
    std::set<std::string> types;
    std::int64_t bytes = 0, state = 0;
    for (const LoweredVariable& variable : device.memory[0].variables) {
      if (variable.category == "vertexCode") {
        EXPECT_TRUE(types.insert(variable.name).second) << variable.name;
        EXPECT_EQ(variable.bytes.count, variable.maxUnitBytes.count * 1472);
        bytes += variable.bytes.count;
      }
      if (variable.category == "vertexInstanceState") state += variable.bytes.count;
    }
    return std::pair(bytes, state);
  };
  EXPECT_EQ(codeOf(1).first, codeOf(9).first);
  EXPECT_EQ(9 * codeOf(1).second, codeOf(9).second);
}

TEST(StageLowering, AmpOperandsLieInInterleavedMemory) {
  const auto system = systemOf("mk2");
  const LoweredDevice device = lowerStages(*system, {linearStage(0, 0, 40, 320, 256, true)});
  std::int64_t gaps = 0, wide = 0;
  for (const UnitBytesRun& run : device.memory[0].units) {
    if (run.category == "gap") gaps += run.bytes.count * run.unitCount;
    if (run.region == "interleaved") wide += run.bytes.count * run.unitCount;
  }
  EXPECT_GT(wide, 0);
  EXPECT_GT(gaps, 0);  // the memory below holds far less than 212,992 bytes
}

TEST(StageLowering, OverflowIsSaidAndTheProfileStaysWhole) {
  const auto system = systemOf("pod4");
  const LoweredDevice device =
      lowerStages(*system, {linearStage(0, 1, 64, 16384, 16384, true)});  // the weights alone: 4 × 1 GiB
  expectDeviceSound(*system, device);
  expectMemorySound(device.memory[0], system->devices()[1].memory[0]);
  ASSERT_EQ(device.memory[0].overflow.size(), 1u);
  const std::string& sentence = device.memory[0].overflow[0];
  EXPECT_THAT(sentence, ::testing::StartsWith("IPU1: 1,472 of 1,472 tiles need more than their 624.0 KiB, "));
  EXPECT_THAT(sentence, HasSubstr(" GiB too much in all: tiles 0–1471. The most needs tile "));
  EXPECT_THAT(sentence, HasSubstr(" too much, at fc/"));
  EXPECT_THAT(sentence, HasSubstr("It holds weights and accumulated gradients "));
  EXPECT_THAT(sentence, HasSubstr("Largest there: "));
  EXPECT_THAT(sentence, HasSubstr("fc/weight/moment (optimizer_state) "));
}

TEST(StageLowering, ErrorsNameTheOperator) {
  const auto system = systemOf("mk2");
  StageMaker make(0, 0);
  const auto x = make.tensor("x", {4}, TensorUse::input);
  make.add(Pass::forward, "block/reduce", "AllReduce", {{ops::Collective{}, 1, ""}}, {x}, {});
  const StageIr stage = make.stage();
  const auto lowered = system->lower({&stage});
  ASSERT_FALSE(lowered.ok());
  EXPECT_THAT(lowered.error().message,
              ::testing::StartsWith("block/reduce (AllReduce): number of elements is 0"));
}

TEST(StageLowering, DevicesMustBeThere) {
  const StageIr stage = linearStage(3, 2, 8, 16, 16, true);
  const auto lowered = systemOf("pod4:2")->lower({&stage});
  ASSERT_FALSE(lowered.ok());
  EXPECT_EQ(
      lowered.error().message,
      "Stage 3 is on device 2, but system \"pod4:2\" has 2 IPUs; take a larger system or fewer devices.");
}

TEST(StageLowering, ProportionCanDifferByDevice) {
  SystemOptions options;
  options.settings = {{"available_memory_proportion", 0.05, 1}};
  const auto system = systemOf("pod4", options);
  const StageIr roomy = linearStage(0, 0, 512, 2048, 2048, true),
                tight = linearStage(0, 1, 512, 2048, 2048, true);
  EXPECT_LT(lowerStages(*system, {roomy}).passes[1].ticks(), lowerStages(*system, {tight}).passes[1].ticks());
}

TEST(StageLowering, IsDeterministic) {
  const auto first = systemOf("pod4"), second = systemOf("pod4");
  const StageIr stage = linearStage(0, 0, 40, 320, 256, true);
  const LoweredDevice a = lowerStages(*first, {stage}), b = lowerStages(*second, {stage});
  ASSERT_EQ(a.passes.size(), b.passes.size());
  for (std::size_t i = 0; i < a.passes.size(); ++i) EXPECT_EQ(a.passes[i].ticks(), b.passes[i].ticks());
  ASSERT_EQ(a.memory[0].units.size(), b.memory[0].units.size());
  ASSERT_EQ(a.memory[0].variables.size(), b.memory[0].variables.size());
}

TEST(StageLowering, TwiceTheSpeedTakesHalfTheTime) {
  // All clocks and bandwidths doubled and all latencies halved give the same cycles, each half as long.
  const testing::TemporaryFolder folder;
  const auto figure = [](const char* name, double value, const char* unit) {
    return std::string(name) + " = { value = " + std::to_string(value) + ", unit = \"" + unit +
           "\", grade = \"X\", source = \"doubled\" }\n";
  };
  folder.write("devices/double.toml",
               "family = \"ipu\"\nbase = \"mk2\"\n[figures]\n" + figure("clock", 2.66e9, "Hz") +
                   figure("host_bandwidth", 16e9, "B/s") +
                   "host_latency = { value = 1e-6, unit = \"s\", grade = \"X\", source = \"halved\" }\n"
                   "call_overhead = { value = 2.5e-5, unit = \"s\", grade = \"X\", source = \"halved\" }\n"
                   "sync_hop = { value = 7.5e-9, unit = \"s\", grade = \"X\", source = \"halved\" }\n");
  folder.write("systems/doublepod.toml",
               "family = \"ipu\"\nbase = \"pod4\"\nchip = \"double\"\n[figures]\n" +
                   figure("link_lane", 274877906944.0, "bit/s") +
                   figure("machine_host_bandwidth", 23e9, "B/s") +
                   "link_startup = { value = 6.5e-7, unit = \"s\", grade = \"X\", source = \"halved\" }\n");
  SystemOptions options;
  options.userFolder = folder.path();
  const auto normal = systemOf("pod4"), fast = systemOf("doublepod", options);
  EXPECT_EQ(fast->devices()[0].ticksPerSecond, 2 * normal->devices()[0].ticksPerSecond);
  const StageIr stage = linearStage(0, 0, 40, 320, 256, true);
  const LoweredDevice a = lowerStages(*normal, {stage}), b = lowerStages(*fast, {stage});
  for (std::size_t i = 0; i < a.passes.size(); ++i) EXPECT_EQ(a.passes[i].ticks(), b.passes[i].ticks());
  const std::vector<Flow> flows{{0, 1, Bytes(1'000'000)}, {1, 2, Bytes(2'000'000)}, {0, 2, Bytes(3'000'000)}};
  EXPECT_EQ(normal->transferTicks(flows), fast->transferTicks(flows));
  EXPECT_EQ(normal->syncTicks(4), fast->syncTicks(4));
  EXPECT_EQ(normal->callTicks(), fast->callTicks());
}

}  // namespace
}  // namespace pipescope::devices
