// Collectives as rings over the ladder, compared with the closed formula 2(n − 1)/n · S/β + 2(n − 1)α.
#include <gtest/gtest.h>

#include <filesystem>

#include "engine/devices/core/device_files.h"
#include "engine/devices/ipu/ring.h"

namespace pipescope::devices::ipu {
namespace {

constexpr double kLane = 137438953472.0 / 8 * 0.85;  // bytes per second of a lane in one direction
constexpr double kStartup = 2e-6;

Ladder ladderOf(const std::string& system, int devices) {
  const DeviceFiles files{std::filesystem::path()};
  const auto file = files.system(system);
  EXPECT_TRUE(file.ok()) << file.error().message;
  FigureReader figures(*file);
  // Figures that the ladder does not read.
  figures.count("devices", "IPUs", 1024);
  figures.countOr("streaming_memory", "B", std::int64_t{1} << 50, 0);
  figures.positiveOr("streaming_bandwidth", "B/s", 0);
  figures.positive("machine_host_bandwidth", "B/s");
  figures.countOr("machine_devices", "IPUs", 1024, 1);
  figures.positiveOr("machine_streaming_bandwidth", "B/s", 1);
  auto ladder = Ladder::read(figures, devices);
  EXPECT_TRUE(ladder.ok()) << ladder.error().message;
  return *ladder;
}

std::vector<int> everyOf(int count, int stride, int first = 0) {
  std::vector<int> devices;
  for (int i = 0; i < count; ++i) devices.push_back(first + i * stride);
  return devices;
}

double ring(double n, double bytes, double bytesPerSecond) {
  return 2 * (n - 1) * (bytes / n / bytesPerSecond + kStartup);
}

TEST(Ring, GoesUpOneSideAndDownTheOther) {
  EXPECT_EQ(ringOrder(everyOf(8, 1)), (std::vector<int>{0, 2, 4, 6, 7, 5, 3, 1}));
  EXPECT_EQ(ringOrder({12, 4, 8, 0}), (std::vector<int>{0, 4, 8, 12}));
}

TEST(Ring, AllReduceTakesTheClosedFormula) {
  const Ladder ladder = ladderOf("pod64", 64);
  using Kind = ops::Collective::Kind;
  for (const int n : {2, 4, 16, 64}) {
    const double bytes = 25.5e6 * 2 / n * n;
    const auto whole = static_cast<std::int64_t>(bytes);
    // Two lanes go up and down; a pair has four lanes of its own.
    const double rate = n == 2 ? 4 * kLane : 2 * kLane;
    EXPECT_NEAR(collectiveSeconds(ladder, Kind::allReduce, whole, {everyOf(n, 1)}), ring(n, bytes, rate),
                1e-8)
        << n;
    EXPECT_NEAR(collectiveSeconds(ladder, Kind::reduceScatter, whole, {everyOf(n, 1)}),
                ring(n, bytes, rate) / 2, 1e-8);
    EXPECT_NEAR(collectiveSeconds(ladder, Kind::allGather, whole, {everyOf(n, 1)}), ring(n, bytes, rate) / 2,
                1e-8);
  }
  EXPECT_EQ(collectiveSeconds(ladder, Kind::allReduce, 1000, {everyOf(1, 1)}), 0);
}

TEST(Ring, RingsOfOtherPlacesShareLinks) {
  const Ladder ladder = ladderOf("pod16", 16);
  const auto seconds = [&](const std::vector<std::vector<int>>& groups) {
    return collectiveSeconds(ladder, ops::Collective::Kind::allReduce, 1 << 24, groups);
  };
  // Replicas of four devices: places 0 and 1 are on different sides of the ladder, 0 and 2 on the same side.
  const double alone = seconds({everyOf(4, 4)});
  EXPECT_NEAR(alone, ring(4, 1 << 24, 2 * kLane), 1e-9);
  EXPECT_NEAR(seconds({everyOf(4, 4), everyOf(4, 4, 1)}), alone, 1e-12);
  EXPECT_NEAR(seconds({everyOf(4, 4), everyOf(4, 4, 2)}), ring(4, 1 << 24, kLane), 1e-9);
}

TEST(Ring, ThroughGatewaysItIsAsMeasured) {
  const Ladder ladder = ladderOf("pod256", 256);
  const double bytes = 25.5e6 * 2;
  const double seconds = collectiveSeconds(ladder, ops::Collective::Kind::allReduce,
                                           static_cast<std::int64_t>(bytes), {everyOf(256, 1)});
  EXPECT_NEAR(seconds, ring(256, bytes, 11e9), 1e-6);
}

}  // namespace
}  // namespace pipescope::devices::ipu
