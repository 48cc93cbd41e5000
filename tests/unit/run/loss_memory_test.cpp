// Tests the memory that a loss over many classes takes on cards. Megatron-LM (core/tensor_parallel/
// cross_entropy.py) keeps one copy of the scores in float32. It becomes the probabilities and then the
// gradient in place, and only the gradient in 16 bits lies beside it: 6 bytes a score, divided by the tensor
// ranks.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "app/run/request/compile_run.h"
#include "app/run/request/configuration_keys.h"

namespace pipescope::app {
namespace {

constexpr std::int64_t kLossTokens = 4 * 128, kLossClasses = 1 << 15;

/// The most bytes that are live at a step, without what is always live.
std::int64_t passingBytes(const std::string& system, int ranks) {
  const auto parsed = parseConfiguration(fmt::format(R"(
[model]
builder = "decoder"
layers = 1
hidden = 64
heads = 4
feed_forward = 64
sequence = 128
vocabulary = {}
[execution]
mode = "training"
numerics = false
precision = "bfloat16"
tensor_parallel = {}
[training]
optimizer = "adamw"
micro_batch_size = 4
gradient_accumulation = 2
[system]
name = "{}"
)",
                                                     kLossClasses, ranks, system),
                                         "loss.toml");
  EXPECT_TRUE(parsed.ok()) << parsed.error().message;
  const auto compiled = compileRun(*parsed);
  EXPECT_TRUE(compiled.ok()) << compiled.error().message;
  std::map<std::int32_t, std::int64_t> changes;
  for (const devices::LoweredVariable& variable :
       compiled->executables.front().lowered.front().memory.front().variables) {
    for (const devices::LifeSteps& life : variable.lives) {
      changes[life.first] += variable.bytes.count;
      changes[life.end] -= variable.bytes.count;
    }
  }
  std::int64_t live = 0, most = 0;
  for (const auto& [step, change] : changes) most = std::max(most, live += change);
  return most;
}

TEST(LossMemory, IsSixBytesAScoreOnCards) {
  for (const int ranks : {1, 2, 4}) {
    SCOPED_TRACE(ranks);
    const auto scores = static_cast<double>(kLossTokens * kLossClasses / ranks);
    const auto bytes = static_cast<double>(passingBytes("dgx-h100", ranks));
    EXPECT_GE(bytes, 6 * scores);
    EXPECT_LE(bytes, 6.5 * scores) << "one layer is small";
  }
  // Only Megatron-LM is known to work in place.
  EXPECT_GE(passingBytes("hls-gaudi2", 1), 8 * kLossTokens * kLossClasses);
}

}  // namespace
}  // namespace pipescope::app
