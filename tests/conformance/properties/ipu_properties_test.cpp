// What must hold of every model on IPUs, tried on random ones: larger batches take no less time and memory,
// and functions that keep code once never make a model larger.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "random_model.h"

namespace pipescope::conformance {
namespace {

/// The full tests draw ten times as many models.
int ipuModels() {
  return std::getenv("PIPESCOPE_FULL_TESTS") != nullptr ? 200 : 20;
}

RandomModel randomIpuModel(ModelDice& dice, int mostStages) {
  const char* system = dice.oneOf<const char*>({"c2x4", "pod4", "bow-pod4"});
  // IPUs have no bfloat16.
  const char* type = dice.oneOf<const char*>({"float32", "float16"});
  return randomModel(dice, system, mostStages).with("execution.precision", type);
}

/// What is always live, and the most that lives at once of the rest, on all tiles of the fullest device.
std::int64_t neededBytes(const Measured& measured) {
  std::int64_t most = 0;
  for (const devices::LoweredDevice& device : measured.compilation.executables.front().lowered) {
    const devices::LoweredMemory& memory = device.memory.front();
    std::int64_t always = 0, peak = 0;
    for (const devices::LoweredVariable& variable : memory.variables)
      always += variable.alwaysLive ? variable.bytes.count : 0;
    for (const devices::LivenessStep& step : memory.steps) peak = std::max(peak, step.notAlwaysLive.count);
    most = std::max(most, always + peak);
  }
  return most;
}

TEST(IpuProperties, FunctionsNeverTakeMoreMemory) {
  ModelDice dice(12);
  for (int i = 0; i < ipuModels(); ++i) {
    const RandomModel random = randomIpuModel(dice, 2);
    record::MemoryProfile first, second;
    const auto with = measure(random, first),
               without = measure(random.with("compile.outline", "false"), second);
    ASSERT_TRUE(with.ok() && without.ok()) << random.describe();
    EXPECT_LE(static_cast<double>(neededBytes(*with)), 1.01 * static_cast<double>(neededBytes(*without)))
        << random.describe();
  }
}

TEST(IpuProperties, LargerBatchesTakeNoLessTimeAndMemory) {
  ModelDice dice(13);
  for (int i = 0; i < ipuModels(); ++i) {
    const RandomModel random = randomIpuModel(dice, 1);
    const std::string key = random.keys.at("execution.mode") + ".micro_batch_size";
    double seconds = 0;
    std::int64_t memory = 0;
    for (const char* batch : {"1", "2", "3", "8"}) {
      record::MemoryProfile profile;
      const auto measured = measure(random.with(key, batch), profile);
      ASSERT_TRUE(measured.ok()) << measured.error().message << "\n" << random.describe();
      EXPECT_GE(measured->seconds, 0.99 * seconds) << batch << " " << random.describe();
      EXPECT_GE(static_cast<double>(neededBytes(*measured)), 0.99 * static_cast<double>(memory))
          << batch << " " << random.describe();
      seconds = measured->seconds;
      memory = neededBytes(*measured);
    }
  }
}

}  // namespace
}  // namespace pipescope::conformance
