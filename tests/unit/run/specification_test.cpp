// Tests the cost of recompute and precision in each stage (execution semantics §5.10, §5.12).
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

#include "app/run/request/compile_run.h"
#include "app/run/request/configuration_keys.h"

namespace pipescope::app {
namespace {

using Changes = std::map<std::string, std::string>;

compile::CompiledExecutable sample(const Changes& changes) {
  std::ifstream file(std::string(PIPESCOPE_SOURCE_DIR) + "/samples/mnist/pipelined.toml");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  auto parsed = app::parseConfiguration(text, "pipelined.toml");
  EXPECT_TRUE(parsed.ok()) << parsed.error().message;
  for (const auto& [key, value] : changes)
    EXPECT_TRUE(parsed->setText(key, value, config::Origin::flag).ok()) << key;
  EXPECT_TRUE(parsed->setText("execution.mode", "training", config::Origin::flag).ok());
  auto compiled = compileRun(*parsed);
  EXPECT_TRUE(compiled.ok()) << compiled.error().message;
  return compiled.ok() ? compiled->executables.front() : compile::CompiledExecutable{};
}

std::int64_t ticksOf(const compile::CompiledExecutable& made, int stage, model::Pass wanted) {
  std::int64_t ticks = 0;
  for (const devices::LoweredDevice& device : made.lowered) {
    for (const devices::LoweredPass& pass : device.passes) {
      for (const devices::LoweredSegment& segment : pass.segments)
        ticks += pass.stage == stage && segment.pass.value_or(pass.pass) == wanted ? segment.ticks.count : 0;
    }
  }
  return ticks;
}

std::int64_t bytesOf(const compile::StageIr& stage, compile::TensorUse use) {
  std::int64_t bytes = 0;
  for (const compile::IrTensor& tensor : stage.tensors)
    bytes += tensor.use == use ? tensor.type.bytes().count * tensor.copies : 0;
  return bytes;
}

/// §5.10: with recompute, every stage but the last repeats its forward pass. It keeps only its inputs
/// instead of all activations.
TEST(Specification, RecomputeIsOneMoreForwardOnEveryStageButTheLast) {
  const compile::CompiledExecutable pipeline = sample({}), none = sample({{"execution.recompute", "none"}});
  ASSERT_EQ(pipeline.ir.stages.size(), 4u);
  for (int stage = 0; stage < 4; ++stage) {
    const auto s = static_cast<std::size_t>(stage);
    const std::int64_t forward = ticksOf(none, stage, model::Pass::forward),
                       again = ticksOf(pipeline, stage, model::Pass::recompute);
    EXPECT_EQ(ticksOf(none, stage, model::Pass::recompute), 0);
    if (stage == 3) {
      EXPECT_EQ(again, 0);
      continue;
    }
    // Recompute also restores the stage's input. It may leave out the operator that makes the stage's result.
    EXPECT_GT(again, forward / 2) << stage;
    EXPECT_LT(again, 2 * forward) << stage;
    EXPECT_EQ(pipeline.ir.stages[s].stashEntries, 2 * (3 - stage) + 1);
    EXPECT_EQ(bytesOf(pipeline.ir.stages[s], compile::TensorUse::stash),
              pipeline.ir.stages[s].stashBytesPerEntry.count * (2 * (3 - stage) + 1));
    EXPECT_LT(pipeline.ir.stages[s].stashBytesPerEntry, none.ir.stages[s].stashBytesPerEntry) << stage;
  }
}

/// §5.12: bytes per parameter for one replica that keeps everything on the chip.
TEST(Specification, BytesPerParameterInHalfPrecision) {
  const std::int64_t parameters = 10 * 25 + 10;  // first stage: 10 filters of 5 × 5, 10 biases
  const auto perParameter = [&](const Changes& changes, compile::TensorUse use) {
    Changes all = changes;
    all["execution.precision"] = "float16";
    return static_cast<double>(bytesOf(sample(all).ir.stages[0], use)) / static_cast<double>(parameters);
  };
  using compile::TensorUse;
  const Changes half = {{"training.accumulator", "float16"}}, full = {{"training.accumulator", "float32"}};
  EXPECT_EQ(perParameter(half, TensorUse::weight), 2);
  EXPECT_EQ(perParameter(half, TensorUse::accumulator), 2);
  EXPECT_EQ(perParameter(full, TensorUse::accumulator), 4);
  EXPECT_EQ(perParameter(half, TensorUse::optimizerState), 8)
      << "AdamW's two moments in float32, no copy of weights";
  Changes master = half;
  master["training.master_weights"] = "true";
  EXPECT_EQ(perParameter(master, TensorUse::optimizerState), 12) << "and a copy in float32";
}

}  // namespace
}  // namespace pipescope::app
