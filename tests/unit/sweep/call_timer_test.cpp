// Tests lengths of calls on systems with other figures.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <fstream>

#include "app/run/request/compile_run.h"
#include "app/run/sweep/variant.h"
#include "engine/plan/emulated_time.h"
#include "tests/unit/sweep/sweep_fixture.h"

namespace pipescope::app {
namespace {

class CallTimerTest : public SweepFixture {
 protected:
  CallTimerTest() {
    std::ofstream(file("slow.toml"))
        << "base = \"dgx-h100\"\n[figures]\n"
           "inside_latency = { value = 1e-4, unit = \"s\", grade = \"M\", source = \"planted\" }\n"
           "[chip_figures]\n"
           "product_efficiency = { value = 0.2, unit = \"1\", grade = \"M\", source = \"planted\" }\n"
           "hbm_efficiency = { value = 0.3, unit = \"1\", grade = \"M\", source = \"planted\" }\n";
  }
  static config::Configuration decoder(const std::string& system, int microBatches) {
    auto parsed = parseConfiguration(fmt::format(R"(
[model]
builder = "decoder"
layers = 8
hidden = 256
heads = 4
vocabulary = 512
sequence = 64
[execution]
mode = "training"
numerics = false
precision = "bfloat16"
tensor_parallel = 2
layers_per_stage = [1, 1, 1, 1, 1, 1, 1, 1]
schedule = "interleaved-1f1b"
chunks = 2
[training]
gradient_accumulation = {}
[data]
dataset = "synthetic"
samples = 10000
[system]
name = "{}"
)",
                                                 microBatches, system),
                                     "decoder.toml");
    EXPECT_TRUE(parsed.ok()) << parsed.error().message;
    return std::move(parsed).value();
  }
};

/// A call has the length that a compilation for the other system gives it.
TEST_F(CallTimerTest, FollowsTheFiguresOfEachSystem) {
  base::SerialExecutor executor;
  auto timer = CallTimer::create(decoder("dgx-h100", 8), executor);
  ASSERT_TRUE(timer.ok()) << timer.error().message;
  const auto seconds = timer->seconds({"", file("slow.toml"), "dgx-h100"}, executor);
  ASSERT_TRUE(seconds.ok()) << seconds.error().message;
  ASSERT_EQ(seconds->size(), 3U);
  std::size_t at = 0;
  for (const std::string& system : {std::string("dgx-h100"), file("slow.toml"), std::string("dgx-h100")}) {
    const auto compiled = compileRun(decoder(system, 8));
    ASSERT_TRUE(compiled.ok()) << compiled.error().message;
    const double whole = static_cast<double>(plan::callTicks(*compiled).count) /
                         static_cast<double>(compiled->system->devices().front().ticksPerSecond);
    EXPECT_NEAR((*seconds)[at++] / whole, 1, 1e-9) << system;
  }
  EXPECT_GT((*seconds)[1], 1.5 * (*seconds)[0]);
}

TEST_F(CallTimerTest, ExtendsLongCallsFromShorterOnes) {
  base::SerialExecutor executor;
  for (const std::string& system : {std::string("dgx-h100"), file("slow.toml")}) {
    for (const int microBatches : {64, 100}) {
      const config::Configuration configuration = decoder(system, microBatches);
      auto timer = CallTimer::create(configuration, executor);
      ASSERT_TRUE(timer.ok()) << timer.error().message;
      const auto seconds = timer->seconds({""}, executor);
      const auto compiled = compileRun(configuration);
      ASSERT_TRUE(seconds.ok() && compiled.ok());
      const double whole = static_cast<double>(plan::callTicks(*compiled).count) /
                           static_cast<double>(compiled->system->devices().front().ticksPerSecond);
      EXPECT_NEAR(seconds->front() / whole, 1, 0.002) << system << " " << microBatches;
    }
  }
}

TEST_F(CallTimerTest, RefusesAnotherKindOfSystem) {
  base::SerialExecutor executor;
  auto timer = CallTimer::create(decoder("dgx-h100", 8), executor);
  ASSERT_TRUE(timer.ok()) << timer.error().message;
  const auto seconds = timer->seconds({"hls-gaudi2"}, executor);
  ASSERT_FALSE(seconds.ok());
  EXPECT_THAT(seconds.error().message, testing::HasSubstr("has other devices than dgx-h100"));
}

}  // namespace
}  // namespace pipescope::app
