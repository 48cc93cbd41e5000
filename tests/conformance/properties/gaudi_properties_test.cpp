// Properties that must hold of every model on Gaudis, tried on random ones: no engine is faster than its
// peak, no memory than its bandwidth; every byte that arrives was sent; larger batches take no less time and
// memory; a card with twice as much of anything is never slower, one with half as much never faster; and a
// device's work and waits fill its time.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <iterator>
#include <string>
#include <vector>

#include "random_model.h"
#include "user_devices.h"

namespace pipescope::conformance {
namespace {

/// The full tests draw ten times as many models.
int models() {
  return std::getenv("PIPESCOPE_FULL_TESTS") != nullptr ? 200 : 20;
}

/// Bytes that the kernels of a card move, against what its HBM can move in the time of their segments.
void expectWithinBandwidth(const Measured& measured, double bytesPerSecond) {
  for (const devices::LoweredDevice& device : measured.compilation.executables.front().lowered) {
    for (const devices::LoweredPass& pass : device.passes) {
      if (pass.pass == model::Pass::hostIn || pass.pass == model::Pass::hostOut) continue;
      for (const devices::LoweredSegment& segment : pass.segments) {
        double bytes = 0;
        for (const devices::LoweredStep& step : segment.steps) {
          if (step.lane == model::LaneRole::matrix || step.lane == model::LaneRole::vector)
            bytes += static_cast<double>((step.bytesIn + step.bytesOut).count);
        }
        EXPECT_LE(bytes, bytesPerSecond * base::toSeconds(segment.ticks, {1'000'000'000'000}) * 1.000001)
            << segment.name;
      }
    }
  }
}

/// Work and waits of each device, without what runs beside it, fill the time of the calls.
void expectTimeIsFilled(const record::MemoryProfile& profile) {
  std::map<std::int64_t, std::int64_t> filled;
  std::map<std::int64_t, model::Pass> passes;
  for (const model::Segment& segment : **profile.rows<model::Segment>())
    passes[segment.id.value] = segment.pass;
  for (const model::Placement& placement : **profile.rows<model::Placement>()) {
    if (passes[placement.segment.value] != model::Pass::collective)
      filled[placement.device.value] += (placement.end - placement.start).count;
  }
  for (const model::Wait& wait : **profile.rows<model::Wait>())
    filled[wait.device.value] += (wait.end - wait.start).count;
  std::int64_t span = 0;
  for (const model::Run& run : **profile.rows<model::Run>()) span += (run.end - run.start).count;
  for (const auto& [device, ticks] : filled) EXPECT_EQ(ticks, span) << "device " << device;
}

std::int64_t bytesReceived(const record::MemoryProfile& profile) {
  std::int64_t bytes = 0;
  for (const model::Transfer& transfer : **profile.rows<model::Transfer>()) bytes += transfer.bytes.count;
  return bytes;
}

TEST(GaudiProperties, NothingIsFasterThanItCanBe) {
  ModelDice dice(1);
  for (int i = 0; i < models(); ++i) {
    const char* card = dice.oneOf<const char*>({"hls-1", "hls-gaudi2", "hls-3"});
    const RandomModel random = randomModel(dice, card, 3);
    record::MemoryProfile profile;
    const auto measured = measure(random, profile);
    ASSERT_TRUE(measured.ok()) << measured.error().message << "\n" << random.describe();
    EXPECT_EQ(measured->abovePeak, std::vector<std::string>()) << random.describe();
    const std::string chip = measured->compilation.system->devices().front().kind;
    expectWithinBandwidth(*measured, figureOf(chip, "hbm_bandwidth").value);
    expectTimeIsFilled(profile);
    EXPECT_EQ(bytesReceived(profile), measured->sent) << random.describe();
    if (::testing::Test::HasFailure()) FAIL() << random.describe();
  }
}

TEST(GaudiProperties, LargerBatchesTakeNoLessTimeAndMemory) {
  ModelDice dice(2);
  for (int i = 0; i < models(); ++i) {
    const RandomModel random = randomModel(dice, "gaudi2", 1);
    const std::string key = random.keys.at("execution.mode") + ".micro_batch_size";
    double seconds = 0;
    std::int64_t memory = 0;
    for (const char* batch : {"1", "2", "3", "8"}) {
      record::MemoryProfile profile;
      const auto measured = measure(random.with(key, batch), profile);
      ASSERT_TRUE(measured.ok()) << measured.error().message << "\n" << random.describe();
      EXPECT_GE(measured->seconds, 0.99 * seconds) << batch << " " << random.describe();
      EXPECT_GE(static_cast<double>(measured->memory), 0.99 * static_cast<double>(memory)) << batch;
      seconds = measured->seconds;
      memory = measured->memory;
    }
  }
}

TEST(GaudiProperties, MoreOfAnythingIsNeverSlower) {
  const UserDevices user;
  static constexpr const char* kResources[] = {
      "mme_clock", "tpcs",          "tpc_clock",     "sram",           "sram_bandwidth",
      "hbm",       "hbm_bandwidth", "dma_bandwidth", "host_bandwidth", "tpc_local_memory",
      "port_rate"};
  static constexpr const char* kResourcesOfGaudi3[] = {"sram_write_bandwidth", "shared_sram_bandwidth",
                                                       "shared_sram_write_bandwidth"};
  ModelDice dice(3);
  for (int i = 0; i < models(); ++i) {
    const std::string card = dice.oneOf<const char*>({"gaudi", "gaudi2", "gaudi3"});
    const RandomModel random = randomModel(dice, card, 1);
    record::MemoryProfile profile;
    const auto measured = measure(random, profile);
    ASSERT_TRUE(measured.ok()) << measured.error().message << "\n" << random.describe();
    std::vector<std::string> resources(std::begin(kResources), std::end(kResources));
    if (card == "gaudi3") {
      resources.insert(resources.end(), std::begin(kResourcesOfGaudi3), std::end(kResourcesOfGaudi3));
    }
    for (const std::string& resource : resources) {
      const bool sustained = resource == "mme_clock" && card == "gaudi3";  // Gaudi3 lowers its clock
      const std::string figure = sustained ? "mme_sustained_clock" : resource;
      for (const double factor : {2.0, 0.5}) {
        user.add("changed", card, figure, factor);
        record::MemoryProfile changed;
        const auto other = measure(random.with("system.name", "changed"), changed);
        ASSERT_TRUE(other.ok()) << other.error().message << "\n" << figure;
        const double less = factor < 1 ? other->seconds : measured->seconds,
                     more = factor < 1 ? measured->seconds : other->seconds;
        EXPECT_LE(more, 1.01 * less) << factor << " times " << figure << "\n" << random.describe();
      }
    }
  }
}

}  // namespace
}  // namespace pipescope::conformance
