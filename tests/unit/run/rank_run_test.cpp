// Tests models whose layers several chips share (execution.tensor_parallel): the numbers stay those of the
// undivided model, and what each rank holds and exchanges follows the closed forms of Megatron-LM (arXiv
// 1909.08053, 2205.05198).
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "app/run/request/compile_run.h"
#include "app/run/request/configuration_keys.h"
#include "run_fixture.h"

namespace pipescope::app {
namespace {

using RankRunTest = RunFixture;
using ::testing::HasSubstr;

constexpr std::int64_t kLayers = 2, kWidth = 64, kHeads = 8, kInner = 128, kTokens = 16, kWords = 1024,
                       kBatch = 2;

std::string decoder(const std::string& execution, const std::string& system = "hls-gaudi2",
                    std::int64_t words = kWords) {
  return fmt::format(R"(
[model]
builder = "decoder"
layers = {}
hidden = {}
heads = {}
feed_forward = {}
sequence = {}
vocabulary = {}
[execution]
mode = "training"
{}
[training]
micro_batch_size = {}
gradient_accumulation = 4
optimizer = "sgd"
epochs = 1
[data]
dataset = "synthetic"
samples = 16
[system]
name = "{}"
)",
                     kLayers, kWidth, kHeads, kInner, kTokens, words, execution, kBatch, system);
}

compile::Compilation compiledRanks(const std::string& text) {
  auto parsed = parseConfiguration(text, "ranks.toml");
  EXPECT_TRUE(parsed.ok()) << parsed.error().message;
  auto result = compileRun(*parsed);
  EXPECT_TRUE(result.ok()) << result.error().message;
  return result.ok() ? std::move(*result) : compile::Compilation();
}

std::string refusalOfRanks(const std::string& text) {
  auto parsed = parseConfiguration(text, "ranks.toml");
  if (!parsed.ok()) return parsed.error().message;
  const auto result = compileRun(*parsed);
  return result.ok() ? std::string() : result.error().message;
}

/// Bytes that go through the collectives of this kind in each pass.
std::map<model::Pass, std::int64_t> bytesOf(const compile::Compilation& compilation,
                                            const std::string& kind) {
  std::map<model::Pass, std::int64_t> bytes;
  for (const devices::LoweredPass& pass : compilation.executables.front().lowered.front().passes)
    for (const devices::LoweredSegment& segment : pass.segments)
      for (const devices::LoweredStep& step : segment.steps)
        if (step.name.ends_with("/" + kind)) bytes[segment.pass.value_or(pass.pass)] += step.bytesOut.count;
  return bytes;
}

std::int64_t weightBytes(const compile::Compilation& compilation) {
  std::int64_t bytes = 0;
  for (const devices::LoweredVariable& variable :
       compilation.executables.front().lowered.front().memory.front().variables)
    bytes += variable.category == "weight" ? variable.bytes.count : 0;
  return bytes;
}

/// A micro-batch takes two sums of b·s·h a layer and direction, one for the embedding, one for the gradient
/// of the head's input, and two sums and a largest value of b·s for the loss. A rank sends 2 (t − 1) ÷ t of
/// each.
TEST_F(RankRunTest, ExchangesTheBytesOfTheClosedForm) {
  for (const std::int64_t ranks : {2, 4, 8}) {
    const compile::Compilation all =
        compiledRanks(decoder(fmt::format("numerics = false\ntensor_parallel = {}", ranks)));
    constexpr std::int64_t kTensor = kBatch * kTokens * kWidth * 4, kRows = kBatch * kTokens * 4;
    std::int64_t sent = 0;
    for (const auto& [pass, bytes] : bytesOf(all, "AllReduce")) sent += bytes;
    EXPECT_EQ(sent, 2 * (ranks - 1) * ((4 * kLayers + 2) * kTensor + 3 * kRows) / ranks) << ranks;
    EXPECT_EQ(all.executables.front().ir.mesh.width, ranks);
    EXPECT_EQ(all.devicesUsed, ranks);
  }
}

/// Sequence parallelism gathers and scatters the same tensors, half the bytes of a sum each, and gathers the
/// inputs of products once more in the backward pass: 2 a layer, and that of the head.
TEST_F(RankRunTest, SequenceParallelismSendsTheSameBytes) {
  const compile::Compilation all =
      compiledRanks(decoder("numerics = false\ntensor_parallel = 2\nsequence_parallel = true"));
  constexpr std::int64_t kTensor = kBatch * kTokens * kWidth * 4;
  std::int64_t scattered = 0, gathered = 0;
  for (const auto& [pass, bytes] : bytesOf(all, "ReduceScatter")) scattered += bytes;
  for (const auto& [pass, bytes] : bytesOf(all, "AllGather")) gathered += bytes;
  EXPECT_EQ(scattered, (4 * kLayers + 2) * kTensor / 2);
  EXPECT_EQ(gathered, (4 * kLayers + 2 + 2 * kLayers + 1) * kTensor / 2);
}

/// Matrices are divided; norms and the bias that is added after a sum are whole.
TEST_F(RankRunTest, HoldsAShareOfTheWeights) {
  const std::int64_t whole = weightBytes(compiledRanks(decoder("numerics = false")));
  const std::int64_t shared = weightBytes(compiledRanks(decoder("numerics = false\ntensor_parallel = 8")));
  const std::int64_t norms = (2 * kLayers + 1) * 2 * kWidth * 4;
  const std::int64_t divided =
      (2 * kWords * kWidth + kLayers * (4 * kWidth * kWidth + 2 * kWidth * kInner)) * 4;
  EXPECT_EQ(whole, divided + norms);
  EXPECT_EQ(shared, divided / 8 + norms);
}

/// Numerics computes the undivided model, so no bit of a loss depends on the division.
TEST_F(RankRunTest, LossesDoNotDependOnTheDivision) {
  const auto losses = [&](const std::string& execution) {
    auto parsed = parseConfiguration(decoder(execution), "ranks.toml");
    EXPECT_TRUE(parsed.ok());
    const auto result = run(*parsed);
    EXPECT_TRUE(result.ok()) << result.error().message;
    return counter(read(), "loss");
  };
  const std::vector<double> one = losses("");
  ASSERT_FALSE(one.empty());
  EXPECT_EQ(losses("tensor_parallel = 4"), one);
  EXPECT_EQ(losses("tensor_parallel = 2\nstages = 2"), one);
  EXPECT_EQ(losses("tensor_parallel = 8\nsequence_parallel = true"), one);
}

TEST_F(RankRunTest, PlacesAndReplicasHaveAllTheirRanks) {
  auto parsed =
      parseConfiguration(decoder("numerics = false\ntensor_parallel = 2\nstages = 2"), "ranks.toml");
  ASSERT_TRUE(parsed.ok());
  ASSERT_TRUE(parsed->setText("system.devices", "8", config::Origin::flag).ok());
  ASSERT_TRUE(run(*parsed).ok());
  const Read profile = read();
  EXPECT_EQ(profile.catalog->executables.front().replicas, 2);
  EXPECT_EQ(profile.catalog->target.devicesUsed, 8);
  EXPECT_EQ(profile.catalog->widthOf(model::ExecutableId(0)), 2);
  const auto stages = profile.catalog->stagesOf(model::ExecutableId(0));
  ASSERT_EQ(stages.size(), 2U);
  EXPECT_EQ(stages[1]->device, model::DeviceId(4)) << "behind both ranks of both replicas of the first place";
}

/// Eight heads do not divide by 16, so only the feed-forward part and the vocabulary are shared.
TEST_F(RankRunTest, SaysWhichWeightsAreWhole) {
  const compile::Compilation all =
      compiledRanks(decoder("numerics = false\ntensor_parallel = 16", "hls-gaudi2x2"));
  EXPECT_THAT(all.notices, ::testing::Contains(HasSubstr("8 weights, ")));
  EXPECT_THAT(all.notices, ::testing::Contains(HasSubstr("whole on each of 16 ranks")));
  const compile::Compilation padded =
      compiledRanks(decoder("numerics = false\ntensor_parallel = 8", "hls-gaudi2", 1001));
  EXPECT_THAT(padded.notices,
              ::testing::Contains("The vocabulary of 1001 is padded to 1024, so that 8 ranks share it."));
}

TEST_F(RankRunTest, RefusesWhatCannotBeShared) {
  EXPECT_THAT(refusalOfRanks(decoder("numerics = false\ntensor_parallel = 16")),
              HasSubstr("use 16 devices, but system"));
  EXPECT_THAT(refusalOfRanks(decoder("numerics = false\nsequence_parallel = true")),
              HasSubstr("ranks of execution.tensor_parallel, which is 1"));
  EXPECT_THAT(refusalOfRanks(decoder("numerics = false\ntensor_parallel = 7\n", "hls-gaudi2", 15)),
              HasSubstr("7 ranks cannot share this model"));
}

}  // namespace
}  // namespace pipescope::app
