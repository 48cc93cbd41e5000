// Whole stages on an IPU: segments, liveness and memory.
#include <gmock/gmock.h>

#include <map>
#include <set>

#include "ipu_fixtures.h"

namespace pipescope::devices {
namespace {

using base::Bytes;
using compile::StagePlan;
using compile::TensorUse;
using model::Pass;
using ::testing::HasSubstr;
using testing::linearStage;
using testing::StageMaker;
using testing::systemOf;

LoweredDevice lowerStages(const System& system, const std::vector<StagePlan>& stages) {
  std::vector<const StagePlan*> pointers;
  for (const StagePlan& stage : stages) pointers.push_back(&stage);
  auto lowered = system.lower(pointers);
  EXPECT_TRUE(lowered.ok()) << (lowered.ok() ? "" : lowered.error().message);
  return lowered.ok() ? *lowered : LoweredDevice{};
}

const LoweredVariable* find(const LoweredMemory& memory, const std::string& name,
                            const std::string& category = {}) {
  for (const LoweredVariable& variable : memory.variables) {
    if (variable.name == name && (category.empty() || variable.category == category)) return &variable;
  }
  return nullptr;
}

/// Index of the first liveness step of that name in that pass.
std::int32_t stepOf(const LoweredMemory& memory, const std::string& name, Pass pass) {
  for (std::size_t i = 0; i < memory.steps.size(); ++i) {
    if (memory.steps[i].name == name && memory.steps[i].pass == pass) return static_cast<std::int32_t>(i);
  }
  ADD_FAILURE() << "no step " << name;
  return -1;
}

ops::Work map(ops::MapFunction function, std::int64_t elements, bool inPlace = false) {
  return {ops::Map{function, elements, 1, graph::ElementType::float32, inPlace}, 1, ""};
}

/// What must hold of any lowered device.
void expectDeviceSound(const System& system, const LoweredDevice& device) {
  const DeviceInfo& info = system.devices()[static_cast<std::size_t>(device.device)];
  for (const LoweredPass& pass : device.passes) {
    for (const LoweredSegment& segment : pass.segments) {
      EXPECT_NE(std::find(info.lanes.begin(), info.lanes.end(), segment.lane), info.lanes.end());
      Ticks at;
      for (const LoweredStep& step : segment.steps) {
        EXPECT_EQ(step.offset, at) << step.name;
        at += step.ticks;
        EXPECT_NE(std::find(info.lanes.begin(), info.lanes.end(), step.lane), info.lanes.end());
        EXPECT_GT(step.ticks.count, 0);
        EXPECT_LE(step.minTicks, step.maxTicks);
        EXPECT_EQ(step.maxTicks, step.ticks);
        EXPECT_LE(step.meanTicks, static_cast<double>(step.maxTicks.count) + 1e-9);
        EXPECT_LE(step.activeUnits, info.units);
        EXPECT_GE(step.op, 0);
        EXPECT_LT(step.op, static_cast<int>(pass.operators.size()));
      }
      EXPECT_EQ(segment.ticks, at);
    }
  }
}

void expectMemorySound(const LoweredMemory& memory, const MemorySpaceInfo& space) {
  // Replaying the life intervals gives the recorded bytes.
  std::vector<std::int64_t> live(memory.steps.size() + 1);
  std::int64_t alwaysLive = 0;
  for (const LoweredVariable& variable : memory.variables) {
    EXPECT_LE(variable.maxUnitBytes, variable.bytes);
    if (variable.alwaysLive) {
      alwaysLive += variable.bytes.count;
      EXPECT_TRUE(variable.lives.empty());
    }
    std::int32_t before = 0;
    for (const LifeSteps life : variable.lives) {
      EXPECT_LT(life.first, life.end) << variable.name;
      EXPECT_GE(life.first, before) << variable.name;
      EXPECT_LE(life.end, static_cast<std::int32_t>(memory.steps.size())) << variable.name;
      before = life.end;
      for (std::int32_t step = life.first; step < life.end; ++step)
        live[static_cast<std::size_t>(step)] += variable.bytes.count;
    }
  }
  for (std::size_t i = 0; i < memory.steps.size(); ++i) {
    EXPECT_EQ(memory.steps[i].notAlwaysLive.count, live[i]) << memory.steps[i].name;
    EXPECT_LE(memory.steps[i].maxUnitNotAlwaysLive, memory.steps[i].notAlwaysLive);
  }
  // The bytes of the units add up to the variables, and to the overflow that is reported.
  std::int64_t alwaysLiveUnits = 0;
  std::vector<std::int64_t> low(static_cast<std::size_t>(space.units)), wide = low, over = low, shared = low;
  for (const UnitBytesRun& run : memory.units) {
    EXPECT_GT(run.bytes.count, 0);
    if (run.alwaysLive) alwaysLiveUnits += run.bytes.count * run.unitCount;
    for (std::int64_t unit = run.firstUnit; unit < run.firstUnit + run.unitCount; ++unit) {
      auto& region = run.region == "non_interleaved" ? low : run.region == "interleaved" ? wide : over;
      region.at(static_cast<std::size_t>(unit)) += run.bytes.count;
      if (!run.alwaysLive && run.category != "gap") shared[static_cast<std::size_t>(unit)] += run.bytes.count;
    }
  }
  EXPECT_EQ(alwaysLiveUnits, alwaysLive);
  Bytes mostShared;
  for (const LoweredStepMemory& step : memory.steps)
    mostShared = std::max(mostShared, step.maxUnitNotAlwaysLive);
  EXPECT_GE(*std::max_element(shared.begin(), shared.end()), mostShared.count);
  bool overflows = false;
  for (std::size_t unit = 0; unit < low.size(); ++unit) {
    EXPECT_LE(low[unit], space.interleavedStart.count);
    EXPECT_LE(wide[unit], space.bytesPerUnit.count - space.interleavedStart.count);
    // Below anything in interleaved memory, all memory is used or named a gap.
    if (wide[unit] + over[unit] > 0) {
      EXPECT_EQ(low[unit], space.interleavedStart.count);
    }
    if (over[unit] > 0) {
      EXPECT_EQ(wide[unit], space.bytesPerUnit.count - space.interleavedStart.count);
    }
    overflows = overflows || over[unit] > 0;
  }
  EXPECT_EQ(overflows, !memory.overflow.empty());
}

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
    const StagePlan stage = make.stage();
    const auto lowered = system->lower({&stage});
    return lowered.ok() ? lowered->passes[0].ticks().count : -1;
  };
  EXPECT_EQ(ticksOf(7), 7 * ticksOf(1));
  EXPECT_EQ(ticksOf(0), -1);
}

TEST(StageLowering, RepeatedWeightGradientsArePutInOrderOnce) {
  const auto system = systemOf("mk2");
  const auto ticksOf = [&](std::int64_t repeat, const std::string& step) {
    StageMaker make(0, 0);
    const auto x = make.tensor("x", {16, 1024}, TensorUse::input),
               w = make.tensor("w", {1024, 1024}, TensorUse::gradient);
    const ops::Contraction update = testing::phase(testing::product(16, 1024, 1024), 2);
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
  StagePlan stage = make.stage();
  stage.passes.back().operators.front().again = true;
  const LoweredDevice device = lowerStages(*system, {stage});
  expectMemorySound(device.memory[0], system->devices()[0].memory[0]);
  const LoweredVariable* variable = find(device.memory[0], "y");
  ASSERT_EQ(variable->lives.size(), 2u);
  EXPECT_EQ(variable->lives[0].first, 0);
  EXPECT_EQ(variable->lives[0].end, 2);
  EXPECT_EQ(variable->lives[1].first, 2);
  EXPECT_EQ(variable->lives[1].end, 4);
  // What is computed again is a segment of its own within the backward pass.
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
  EXPECT_THAT(sentence, ::testing::StartsWith("IPU1: 1472 of 1472 tiles need more than their 624.0 KiB, "));
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
  const StagePlan stage = make.stage();
  const auto lowered = system->lower({&stage});
  ASSERT_FALSE(lowered.ok());
  EXPECT_THAT(lowered.error().message,
              ::testing::StartsWith("block/reduce (AllReduce): number of elements is 0"));
}

TEST(StageLowering, DevicesMustBeThere) {
  const StagePlan stage = linearStage(3, 2, 8, 16, 16, true);
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
  const StagePlan roomy = linearStage(0, 0, 512, 2048, 2048, true),
                  tight = linearStage(0, 1, 512, 2048, 2048, true);
  EXPECT_LT(lowerStages(*system, {roomy}).passes[1].ticks(), lowerStages(*system, {tight}).passes[1].ticks());
}

/// A tensor of `bytes` that comes from the host and goes to streaming memory in the update.
StagePlan copyingStage(std::int64_t bytes, int device, const compile::Replication& replication) {
  StageMaker make(device, device);
  const auto x = make.tensor("x", {bytes / 4}, TensorUse::input),
             w = make.tensor("w", {bytes / 4}, TensorUse::weight);
  make.add(Pass::hostIn, "x", "HostLoad", {{ops::HostCopy{true, Bytes(bytes)}, 1, ""}}, {}, {x});
  make.add(Pass::forward, "load", "RemoteLoad", {{ops::HostCopy{true, Bytes(bytes), true}, 1, ""}}, {}, {w});
  make.add(Pass::update, "store", "RemoteStore", {{ops::HostCopy{false, Bytes(bytes), true}, 1, ""}}, {w},
           {});
  StagePlan stage = make.stage();
  stage.replication = replication;
  return stage;
}

/// Bytes per second of the middle program of a pass's copies.
double rateOf(const System& system, const StagePlan& stage, Pass pass, std::int64_t bytes) {
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

TEST(StageLowering, ChipsOfAMachineShareItsStreamingMemory) {
  constexpr std::int64_t bytes = 64'000'000;
  SystemOptions oneAtATime;
  oneAtATime.oneAtATime = true;
  const auto pod = systemOf("pod16"), turns = systemOf("pod16", oneAtATime);
  // The figures of an M2000: 8 GB/s for a chip and 22.5 GB/s for a machine of four. What the host sends lies
  // in the gateway before a chip copies it at 8 GB/s.
  const auto expectRates = [&](const System& system, compile::Replication replication, int device,
                               double host, double flush, double update) {
    const StagePlan stage = copyingStage(bytes, device, replication);
    EXPECT_NEAR(rateOf(system, stage, Pass::hostIn, bytes) / host, 1, 1e-3);
    EXPECT_NEAR(rateOf(system, stage, Pass::forward, bytes) / flush, 1, 1e-3);
    EXPECT_NEAR(rateOf(system, stage, Pass::update, bytes) / update, 1, 1e-3);
  };
  expectRates(*pod, {1, 1}, 0, 8e9, 8e9, 8e9);
  expectRates(*pod, {1, 2}, 0, 8e9, 8e9, 8e9);         // two of four chips: no more than the machine has
  expectRates(*pod, {1, 4}, 3, 8e9, 22.5e9 / 4, 8e9);  // updates run one after another
  expectRates(*pod, {1, 4, true}, 3, 8e9, 22.5e9 / 4, 22.5e9 / 4);  // all updates run at once
  expectRates(*turns, {1, 4}, 3, 8e9, 8e9, 8e9);
  expectRates(*pod, {16, 1}, 0, 8e9, 22.5e9 / 4, 22.5e9 / 4);
  expectRates(*turns, {8, 2}, 1, 8e9, 8e9, 8e9);
  expectRates(*pod, {3, 1}, 0, 8e9, 22.5e9 / 3, 22.5e9 / 3);
}

TEST(StageLowering, InputOutputTilesHoldWhatComesAndGoes) {
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
  const StagePlan stage = make.stage();
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
  // What does not fit there is reported.
  StageMaker large(0, 0);
  const auto z = large.tensor("z", {bytes * 2}, TensorUse::input);
  large.add(Pass::hostIn, "z", "HostLoad", {{ops::HostCopy{true, Bytes(bytes * 8)}, 1, ""}}, {}, {z});
  const LoweredDevice over = lowerStages(*with, {large.stage()});
  ASSERT_EQ(over.memory[0].overflow.size(), 1u);
  EXPECT_THAT(over.memory[0].overflow.front(), HasSubstr("tiles 1440–1471"));
  EXPECT_THAT(over.memory[0].overflow.front(), HasSubstr("It holds buffers for input and output 781.2 KiB"));
}

TEST(StageLowering, IsDeterministic) {
  const auto first = systemOf("pod4"), second = systemOf("pod4");
  const StagePlan stage = linearStage(0, 0, 40, 320, 256, true);
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
  const StagePlan stage = linearStage(0, 0, 40, 320, 256, true);
  const LoweredDevice a = lowerStages(*normal, {stage}), b = lowerStages(*fast, {stage});
  for (std::size_t i = 0; i < a.passes.size(); ++i) EXPECT_EQ(a.passes[i].ticks(), b.passes[i].ticks());
  const std::vector<Flow> flows{{0, 1, Bytes(1'000'000)}, {1, 2, Bytes(2'000'000)}, {0, 2, Bytes(3'000'000)}};
  EXPECT_EQ(normal->transferTicks(flows), fast->transferTicks(flows));
  EXPECT_EQ(normal->syncTicks(4), fast->syncTicks(4));
  EXPECT_EQ(normal->callTicks(), fast->callTicks());
}

}  // namespace
}  // namespace pipescope::devices
