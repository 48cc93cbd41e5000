// Tests an IPU's use of the compiler's proposals: elementwise chains in one vertex, and functions whose code
// is kept once.
#include <gtest/gtest.h>

#include <algorithm>

#include "ipu_fixtures.h"

namespace pipescope::devices::testing {
namespace {

using compile::IrTensorId;
using compile::StageIr;
using compile::TensorUse;
using model::Pass;

LoweredDevice lowerOnMk2(const StageIr& stage) {
  auto lowered = systemOf("mk2")->lower({&stage});
  EXPECT_TRUE(lowered.ok()) << lowered.error().message;
  return std::move(lowered).value();
}

Claim claimOf(const LoweredDevice& device, const std::string& pass) {
  for (const Claim& claim : device.claims) {
    if (claim.pass == pass) return claim;
  }
  ADD_FAILURE() << "no claim of " << pass;
  return {};
}

std::int64_t forwardTicksOf(const LoweredDevice& device) {
  std::int64_t ticks = 0;
  for (const LoweredPass& pass : device.passes) ticks += pass.ticks().count;
  return ticks;
}

std::int64_t alwaysLive(const LoweredDevice& device) {
  std::int64_t bytes = 0;
  for (const LoweredVariable& variable : device.memory.front().variables)
    bytes += variable.alwaysLive ? variable.bytes.count : 0;
  return bytes;
}

std::int64_t peak(const LoweredDevice& device) {
  std::int64_t most = 0;
  for (const LoweredStepMemory& step : device.memory.front().steps)
    most = std::max(most, step.notAlwaysLive.count);
  return most;
}

/// An operator that multiplies, adds and applies relu.
StageIr chainStage(std::int64_t elements, bool chained, ElementType type = ElementType::float32) {
  StageMaker make(0, 0);
  const auto x = make.tensor("x", {elements}, TensorUse::input, type),
             r = make.tensor("r", {elements}, TensorUse::input, type),
             y = make.tensor("y", {elements}, TensorUse::activation, type);
  const auto map = [&](ops::MapFunction function, std::int64_t operands) {
    return ops::Work{ops::Map{function, elements, operands, type, true}, 1, toString(function)};
  };
  make.add(
      Pass::forward, "layer", "Mul+Add+Relu",
      {map(ops::MapFunction::multiply, 1), map(ops::MapFunction::add, 2), map(ops::MapFunction::relu, 1)},
      {x, r}, {y});
  StageIr stage = make.stage();
  if (chained) stage.passes[0].operators[0].chains = {{0, 3}};
  return stage;
}

TEST(Chains, AreOneVertexWhereThatIsFaster) {
  const LoweredDevice apart = lowerOnMk2(chainStage(1472 * 32, false)),
                      fused = lowerOnMk2(chainStage(1472 * 32, true));
  const Claim claim = claimOf(fused, "fuse_elementwise");
  EXPECT_EQ(claim.changes, 1);
  // Computed by hand, for four of the 32 elements of a tile: 2 x 5 cycles for a generated loop, 6 to
  // multiply, 6 - 2 x 2 to add, and at least a cycle a pair for relu: 20. A worker has up to two such blocks
  // and starts in 29 cycles; the sync takes 90.
  EXPECT_EQ(forwardTicksOf(fused), 90 + 11 + 6 * (29 + 2 * 20));
  EXPECT_EQ(claim.ticks.count, forwardTicksOf(apart) - forwardTicksOf(fused));
  EXPECT_GT(claim.ticks.count, 0);
  ASSERT_EQ(fused.memory.front().steps.size(), 1u);
  EXPECT_EQ(fused.memory.front().steps[0].name, "layer/multiply/Fused(multiply+add+relu)");
  EXPECT_EQ(apart.memory.front().steps.size(), 3u);
  EXPECT_EQ(claimOf(apart, "fuse_elementwise").changes, 0);
}

/// A generated loop takes longer per element than one written in assembly.
TEST(Chains, StayApartWhereTilesHaveMuchToDo) {
  const LoweredDevice apart = lowerOnMk2(chainStage(1472 * 4000, false, ElementType::float16)),
                      chained = lowerOnMk2(chainStage(1472 * 4000, true, ElementType::float16));
  EXPECT_EQ(claimOf(chained, "fuse_elementwise").changes, 0);
  EXPECT_EQ(forwardTicksOf(chained), forwardTicksOf(apart));
  EXPECT_EQ(chained.memory.front().steps.size(), 3u);
}

/// `layers` products with activations, one after another, each with its own weights.
StageIr layerStage(int layers, std::int64_t width, bool calls) {
  StageMaker make(0, 0);
  const ElementType type = ElementType::float16;
  IrTensorId x = make.tensor("x", {64, width}, TensorUse::input, type);
  compile::PassIr wanted;
  for (int i = 0; i < layers; ++i) {
    const std::string name = "layer" + std::to_string(i);
    const auto w = make.tensor(name + "/weight", {width, width}, TensorUse::weight, type);
    const auto y = make.tensor(name + "/y", {64, width}, TensorUse::activation, type);
    const auto z = make.tensor(name + "/z", {64, width}, TensorUse::activation, type);
    const auto s = make.tensor(name + "/s", {64, width}, TensorUse::activation, type);
    make.add(Pass::forward, name + "/linear", "Gemm", {{product(64, width, width, type), 1, ""}}, {x, w},
             {y});
    make.add(Pass::forward, name + "/relu", "Relu",
             {{ops::Map{ops::MapFunction::relu, 64 * width, 1, type, true}, 1, ""}}, {y}, {z});
    make.add(Pass::forward, name + "/softmax", "Softmax",
             {{ops::Map{ops::MapFunction::exp, 64 * width, 1, type, true}, 1, ""}}, {z}, {s});
    wanted.calls.push_back({"layer/function", name, static_cast<std::size_t>(i) * 3, 3});
    x = s;
  }
  StageIr stage = make.stage();
  if (calls) stage.passes[0].calls = wanted.calls;
  return stage;
}

TEST(Functions, KeepCodeOnceWhereThatSavesMemory) {
  const LoweredDevice plain = lowerOnMk2(layerStage(12, 64, false)),
                      outlined = lowerOnMk2(layerStage(12, 64, true));
  const Claim claim = claimOf(outlined, "outline");
  ASSERT_EQ(claim.changes, 12);
  EXPECT_GT(claim.bytes.count, 0);
  EXPECT_EQ(claim.ticks.count, forwardTicksOf(plain) - forwardTicksOf(outlined)) << "the copies of arguments";
  EXPECT_LT(claim.ticks.count, 0);
  EXPECT_LT(alwaysLive(outlined), alwaysLive(plain));
  EXPECT_LE(alwaysLive(outlined) + peak(outlined), alwaysLive(plain) + peak(plain));
  ASSERT_EQ(outlined.passes[0].calls.size(), 12u);
  EXPECT_EQ(outlined.passes[0].calls[3].function, "layer/function");
  EXPECT_EQ(outlined.passes[0].calls[3].name, "layer3");
  EXPECT_EQ(outlined.passes[0].calls[3].first, 9);
  // Each call still runs all its steps: those of the layer, and the copies in and out.
  const auto count = [](const LoweredDevice& device, const std::string& ending) {
    return std::ranges::count_if(device.memory.front().steps,
                                 [&](const LoweredStepMemory& step) { return step.name.ends_with(ending); });
  };
  EXPECT_EQ(count(outlined, "/relu/Relu"), count(plain, "/relu/Relu"));
  EXPECT_EQ(count(outlined, "/CopyIn/OnTileCopy"), 12);
  EXPECT_EQ(count(outlined, "/CopyOut/OnTileCopy"), 12);
  // The function's arguments live while it runs. Its results need memory twice only while they are copied.
  const LoweredMemory& memory = outlined.memory.front();
  int results = 0, arguments = 0;
  for (const LoweredVariable& variable : memory.variables) {
    for (const LifeSteps life : variable.lives) {
      for (std::int32_t step = life.first; step < life.end; ++step) {
        const bool copyOut =
            memory.steps[static_cast<std::size_t>(step)].name.find("/CopyOut/") != std::string::npos;
        if (variable.name == "layer/function/results") {
          EXPECT_TRUE(copyOut);
          ++results;
        } else if (variable.name == "layer/function/arguments") {
          EXPECT_FALSE(copyOut);
          ++arguments;
        }
      }
    }
  }
  EXPECT_GT(results, 0);
  EXPECT_GT(arguments, results);
}

TEST(Functions, AreNotMadeWhereArgumentsAreLargerThanCode) {
  const LoweredDevice plain = lowerOnMk2(layerStage(2, 2048, false)),
                      proposed = lowerOnMk2(layerStage(2, 2048, true));
  EXPECT_EQ(claimOf(proposed, "outline").changes, 0);
  EXPECT_TRUE(proposed.passes[0].calls.empty());
  EXPECT_EQ(forwardTicksOf(proposed), forwardTicksOf(plain));
  EXPECT_EQ(alwaysLive(proposed), alwaysLive(plain));
}

/// A layer and its repetition with the same weight. The repetition keeps a result for later.
TEST(Functions, DoNotCopyWhatAllCallsRead) {
  StageMaker make(0, 0);
  const ElementType type = ElementType::float16;
  const std::int64_t width = 2048;
  const auto tensor = [&](const std::string& name, TensorUse use, std::int64_t rows) {
    return make.tensor(name, {rows, width}, use, type);
  };
  const auto weight = tensor("weight", TensorUse::weight, width), x = tensor("x", TensorUse::input, 64),
             late = tensor("late", TensorUse::activation, 64);
  IrTensorId kept;
  for (const std::string call : {"forward", "again"}) {
    const auto y = tensor(call + "/y", TensorUse::activation, 64),
               z = tensor(call + "/z", TensorUse::activation, 64);
    make.add(Pass::forward, call + "/linear", "Gemm", {{product(64, width, width, type), 1, ""}}, {x, weight},
             {y});
    make.add(Pass::forward, call + "/relu", "Relu",
             {{ops::Map{ops::MapFunction::relu, 64 * width, 1, type, false}, 1, ""}}, {y}, {z});
    make.add(Pass::forward, call + "/end", "Relu",
             {{ops::Map{ops::MapFunction::relu, 64 * width, 1, type, true}, 1, ""}}, {z},
             {tensor(call + "/end", TensorUse::activation, 64)});
    kept = y;
  }
  make.add(Pass::forward, "later", "Relu",
           {{ops::Map{ops::MapFunction::relu, 64 * width, 1, type, true}, 1, ""}}, {kept}, {late});
  StageIr stage = make.stage();
  stage.passes[0].calls = {{"layer/function", "forward", 0, 2}, {"layer/function", "again", 3, 2}};
  const LoweredDevice outlined = lowerOnMk2(stage);
  EXPECT_EQ(claimOf(outlined, "outline").changes, 2);
  // The weights are not copied into the function, however large they are. Only results are copied out of it.
  for (const LoweredVariable& variable : outlined.memory.front().variables)
    EXPECT_NE(variable.name, "layer/function/arguments") << variable.bytes.count;
  int in = 0, out = 0;
  for (const LoweredStepMemory& step : outlined.memory.front().steps) {
    in += step.name.find("/CopyIn/") != std::string::npos ? 1 : 0;
    out += step.name.find("/CopyOut/") != std::string::npos ? 1 : 0;
  }
  EXPECT_EQ(in, 0);
  EXPECT_EQ(out, 3) << "both calls hand out the result of relu, and the repetition that of the product";
}

}  // namespace
}  // namespace pipescope::devices::testing
